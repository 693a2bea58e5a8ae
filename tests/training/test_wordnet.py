"""WordNet's examples as sentences: whole ones, as they would be printed, each once."""

from __future__ import annotations

import pytest

from trueprobe.training.wordnet import FILES, clean, sentence


@pytest.mark.parametrize(
    ("example", "written"),
    [
        ("he slammed the door shut", "He slammed the door shut."),
        ("Mary opened the car door", "Mary opened the car door."),
        ("Are you  siding with the defender?", "Are you siding with the defender?"),
        ("the judge stayed the execution order", "The judge stayed the execution order."),
        ("her heart is not in it", "Her heart is not in it."),
        ("a door flush with the wall", ""),  # no verb
        ("give up a run", ""),  # no subject
        ("the plain and unequivocal language of the laws", ""),
        ("I came", ""),  # too short
        ("I came, I saw, I conquered ... - Julius Caesar", ""),  # cut, with its author
    ],
)
def test_what_is_a_sentence(example, written):
    assert sentence(example) == written


def test_sentences_are_documents_of_their_own_each_once(tmp_path):
    for name in FILES:
        (tmp_path / name).write_text('  1 This is the licence; "he signed the licence"\n')
    with (tmp_path / "data.verb").open("a") as stream:
        stream.write('00000001 30 v 01 open 0 000 | become open; "The door opened slowly"; "open wide"\n')
        stream.write('00000002 30 v 01 shut 0 000 | become closed; "The door opened slowly"; "he closed it at once"\n')
        stream.write("00000003 30 v 01 ajar 0 000 | has no example\n")
    out = tmp_path / "sentences.txt"
    assert clean(tmp_path, out) == 2
    assert out.read_text() == "The door opened slowly.\n\nHe closed it at once.\n"
