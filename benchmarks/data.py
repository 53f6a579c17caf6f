"""Say where the files of `SKLEARN_DPBO_DATA` come from, check those that are there, and make some.

    python benchmarks/data.py                  # origin, licence and SHA-256 of each file
    python benchmarks/data.py --make FOLDER    # those that FOLDER has the downloads of

Digits and breast cancer come with scikit-learn, other tables with packages of the extra
"benchmarks". The SHA-256 is of what a file holds, not of how it is compressed.
"""

import gzip
import hashlib
from dataclasses import dataclass
from pathlib import Path

from harness import parser_of, print_table

# isort: split
import numpy as np
from problems import DATA


@dataclass
class File:
    """A data file; `downloads` are the files of its origin that `make` turns into it."""

    sha256: str
    origin: str
    licence: str
    how: str
    downloads: tuple[str, ...] = ()
    make: object = None

    def state(self, name):
        """Return whether the file is there and holds what was measured."""
        if not (DATA / name).exists():
            return "not there"
        return "as measured" if content_hash(DATA / name) == self.sha256 else "another content"


def content_hash(path):
    """Return the SHA-256 of a file's text, or of the arrays X and y."""
    if path.suffix == ".npz":
        arrays = np.load(path)
        content = arrays["X"].tobytes() + arrays["y"].tobytes()
    else:
        content = gzip.decompress(path.read_bytes())
    return hashlib.sha256(content).hexdigest()


# What the columns of spambase count, in order; three of lengths, and the label, come after these.
WORDS = (
    "make address all 3d our over remove internet order mail receive will people report "
    "addresses free business email you credit your font 000 money hp hpl george 650 lab labs "
    "telnet 857 data 415 85 technology 1999 parts pm direct cs meeting original project re edu "
    "table conference"
)
SIGNS = "semicolon paren bracket bang dollar hash"
LENGTHS = "average longest total"


def spam(text):
    """Put names on top of the columns."""
    kinds = {"word_freq": WORDS, "char_freq": SIGNS, "capital_run_length": LENGTHS}
    names = [f"{kind}_{name}" for kind, names in kinds.items() for name in names.split()]
    return ",".join(names) + ",spam\n" + text


def census(train, test):
    """Stack both files: names on top, no blanks, no full stop after the labels of the test set."""
    names = (
        "age,workclass,fnlwgt,education,education_num,marital_status,occupation,relationship,race,"
        "sex,capital_gain,capital_loss,hours_per_week,native_country,income,split"
    )
    lines = [names]
    for text, part in ((train, "train"), (test, "test")):
        rows = (line.replace(", ", ",").rstrip(".") for line in text.splitlines())
        lines += [f"{row},{part}" for row in rows if row.count(",") == 14]
    return "\n".join(lines) + "\n"


FILES = {
    "spambase.csv.gz": File(
        "535728e50e3fb5e28947e5aef8ebef7af96ce52c9f627bac46ef0eea8148b69d",
        "Hopkins et al. (1999), doi:10.24432/C53G6X", "CC BY 4.0",
        "spambase.data, with names on top", ("spambase.data",), spam,
    ),
    "diabetes130.csv.gz": File(
        "da21942c25a10a51a8842907ab01a8530b06232616b17d317441d592a20c4359",
        "Clore et al. (2014), doi:10.24432/C5230J", "CC BY 4.0",
        "diabetic_data.csv, with plain line ends", ("diabetic_data.csv",), str,
    ),
    "adult.csv.gz": File(
        "c6c77bfbd8b6c387f5e508860cdc6595f3522e645be92e9d55612bbf046829f9",
        "Becker and Kohavi (1996), doi:10.24432/C5XW20", "CC BY 4.0",
        "adult.data and adult.test, stacked", ("adult.data", "adult.test"), census,
    ),
    "covertype_60k.npz": File(
        "100696c383685694e37a0ff1162ee4101d6e1ed85163925a9600f98585b181cd",
        "Blackard (1998), doi:10.24432/C50K5N", "CC BY 4.0",
        "60,000 rows, stratified by class, of a public sample of 92,962; any other such sample "
        "gives about the same figures",
    ),
    "lendingclub_2007_2011.csv.gz": File(
        "955265e3288f27ca637efce6ad4a441109b0c2f3d821e57023e5288361b247b6",
        "LendingClub, LoanStats3a, in the R package LendingClubData 0.1.4", "MIT (the package)",
        "years 2007 to 2011, six columns, amounts in cents; roi = total_pymnt / funded_amnt - 1",
    ),
    "kc_house.csv.gz": File(
        "ebd1bed561feb36a608b56838e9f7c918e213503f0998154c1fe435743008d0c",
        "King County Assessor, House Sales in King County (Kaggle, harlfoxem)", "CC0",
        "without sale id, date and four columns of areas; price_per_sqm = price / area in m2; "
        "subset2004: of each place the lowest, and of these 2,004 drawn at random",
    ),
}  # fmt: skip


def make(folder):
    """Make those files whose downloads are in the folder."""
    for name, file in FILES.items():
        paths = [folder / download for download in file.downloads]
        if paths and all(path.exists() for path in paths):
            text = file.make(*(path.read_text().replace("\r\n", "\n") for path in paths))
            DATA.mkdir(parents=True, exist_ok=True)
            (DATA / name).write_bytes(gzip.compress(text.encode(), mtime=0))


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--make", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    if options.make:
        make(options.make)
    rows = [
        [name, file.origin, file.licence, file.how, file.sha256, file.state(name)]
        for name, file in FILES.items()
    ]
    print_table(["file", "origin", "licence", "how it is made", "SHA-256", "here"], rows)


if __name__ == "__main__":
    main()
