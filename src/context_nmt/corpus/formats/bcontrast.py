"""BConTrasT (WMT 2020 chat translation task): chats of English agents with German customers, as JSON.

    {CHAT: [{"utteranceID": 0, "speaker": "agent", "source": what was said, "target": its translation}, …]}

An agent's source is English, a customer's German. `SPLIT.en` and `SPLIT.de` hold all utterances in the order of the
chats, whoever speaks: so a chat is a document whose every sentence has both languages. The task translates each speaker
in one direction and scores it apart: `SPLIT_agent` and `SPLIT_customer` are the utterances of one of them.
"""

from itertools import accumulate
from pathlib import Path
from typing import Any

from context_nmt.corpus.catalogue import CorpusEntry, DownloadFile
from context_nmt.corpus.documents import write_documents
from context_nmt.files import read_json, write_lines

SOURCE = {"agent": "en", "customer": "de"}


def unpack(path: Path, folder: Path, file: DownloadFile, _: CorpusEntry) -> None:
    """Unpack one file of an entry into `folder`."""
    write_chats(path, folder, str(file.to))


def write_chats(path: Path, folder: Path, split: str) -> None:
    """Write SPLIT, SPLIT_agent and SPLIT_customer with their documents; a chat in which one is silent is none of his.

    Raises KeyError, TypeError or AttributeError for JSON that is of another kind.
    """
    chats: list[list[dict[str, Any]]] = list(read_json(path).values())
    _write(chats, folder, split)
    for speaker in SOURCE:
        own = [[utterance for utterance in chat if utterance["speaker"] == speaker] for chat in chats]
        _write([chat for chat in own if chat], folder, f"{split}_{speaker}")


def _write(chats: list[list[dict[str, Any]]], folder: Path, split: str) -> None:
    starts = accumulate(map(len, chats), initial=0)
    write_documents(
        folder, split, [range(start, start + len(chat)) for start, chat in zip(starts, chats, strict=False)]
    )
    for language in SOURCE.values():
        write_lines(
            folder / f"{split}.{language}",
            (
                utterance["source" if SOURCE[utterance["speaker"]] == language else "target"]
                for chat in chats
                for utterance in chat
            ),
        )
