"""Models behind a server: vLLM, llama.cpp, and others that speak OpenAI's completions.

`address.py` reads the SPEC, `client.py` speaks HTTP, `server.py` is what a kind of server can do; `vllm.py`,
`llama_cpp.py` and `openai.py` are the kinds; `examine.py` tries a server out, `model.py` answers requests with it.
"""
