"""BConTrasT (WMT 2020 chat translation task): chats of English agents with German customers, as JSON.

    {CHAT: [{"utteranceID": 0, "speaker": "agent", "source": the utterance, "target": its translation}, …]}

The source of an agent is English, that of a customer German. `SPLIT.en` and `SPLIT.de` have the utterances of both
speakers in the order of the chats, so that each chat is a document in both languages. The task translates each speaker
in one direction and scores them separately: `SPLIT_agent` and `SPLIT_customer` have the utterances of one speaker.
"""

from pathlib import Path
from typing import Any

from context_nmt.corpus.catalogue import CorpusEntry, DownloadFile
from context_nmt.corpus.documents import write_sizes
from context_nmt.corpus.skipping import Skipping, one_line
from context_nmt.files import read_json, write_lines

SOURCE = {"agent": "en", "customer": "de"}

Utterance = dict[str, str]  # speaker, en and de
Chat = list[Utterance]


def unpack(paths: dict[str, Path], folder: Path, file: DownloadFile, _: CorpusEntry) -> None:
    """Write SPLIT, SPLIT_agent and SPLIT_customer with their documents.

    The set of a speaker skips chats without utterances of that speaker. Bad chats are skipped. Raise UserError for too
    many of them, and AttributeError for JSON of another structure.
    """
    chats: list[Chat] = []
    with Skipping(file.name, "chats") as counted:
        for name, chat in read_json(paths[file.name]).items():
            with counted.trying(f"chat {name}"):
                chats.append([_utterance(utterance) for utterance in chat])
    _write(chats, folder, str(file.to))
    for speaker in SOURCE:
        speaker_chats = [[utterance for utterance in chat if utterance["speaker"] == speaker] for chat in chats]
        _write([chat for chat in speaker_chats if chat], folder, f"{file.to}_{speaker}")


def _utterance(values: dict[str, Any]) -> Utterance:
    source = SOURCE[values["speaker"]]
    (target,) = set(SOURCE.values()) - {source}
    return {"speaker": values["speaker"], source: one_line(values["source"]), target: one_line(values["target"])}


def _write(chats: list[Chat], folder: Path, split: str) -> None:
    write_sizes(folder, split, map(len, chats))
    for language in SOURCE.values():
        write_lines(folder / f"{split}.{language}", (utterance[language] for chat in chats for utterance in chat))
