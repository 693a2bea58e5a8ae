"""Paper B: what people take for granted about things, asked in three ways."""

PROBES = {"tacit_prince": "prince", "tacit_production": "production", "tacit_retrieval": "retrieval"}
