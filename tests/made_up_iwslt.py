"""Archives in the form of WIT3's, with made-up talks."""

import io
import tarfile
from html import escape


def sentence(language, number):
    return f"{language}{number % 7} {language}{number % 11} & {number % 5} ."


def write(folder, entry, *, lines=200, talks=10, sentence=sentence):
    """Write each archive that an entry of data/params.yaml names; `lines` to train on, a tenth of them in each set."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in entry.files:
        members = {}
        for name, output in file.members.items():
            language, count = output.partition(".")[2], lines if "train.tags" in name else lines // 10
            numbers = range(0, count, max(1, lines // talks))
            content = {
                start + 1: [sentence(language, number) for number in range(start, min(count, start + lines // talks))]
                for start in numbers
            }
            members[name] = training_text(content) if "train.tags" in name else xml(content)
        (folder / file.name).write_bytes(archive(members))


def training_text(talks):
    """Return talks, {number: lines}, as train.tags has them."""
    return "".join(
        about(number)
        + "".join(f" {escape(line, quote=False)}\n" for line in lines)
        + '<reviewer href="http://www.ted.com/profiles/1">Finch</reviewer>\n<translator></translator>\n'
        for number, lines in talks.items()
    )


def xml(talks):
    """Return talks, {number: lines}, as the test sets have them."""
    documents = "".join(
        f'<doc docid="{number}" genre="lectures">\n {about(number)}'
        + "".join(f'<seg id="{place}">  {escape(line)}  </seg>\n' for place, line in enumerate(lines, start=1))
        + "</doc>\n"
        for number, lines in talks.items()
    )
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<mteval>\n<srcset setid="iwslt2014-dev2010" srclang="german">\n'
    return f"{head}{documents}</srcset>\n</mteval>\n"


def about(number):
    """Return what precedes the text of a talk."""
    title = f"<title>Wren: title {number}</title>\n<description>TED Talk {number}: &amp;</description>\n"
    return f"<url>http://www.ted.com/talks/{number}.html</url>\n<talkid>{number}</talkid>\n{title}"


def archive(members):
    """Return a gzipped tar archive of texts."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, text in members.items():
            info, content = tarfile.TarInfo(name), text.encode("utf-8", "surrogateescape")
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return packed.getvalue()
