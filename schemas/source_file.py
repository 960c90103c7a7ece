"""`source_file`: what crawl gives. One row is one Python file with its exact origin and licence."""

from schemas.columns import column, integer, table, text

ORIGIN = [
    column("source_name", text, "name of the source in data/sources.toml"),
    column("source_kind", text, "installed, wheel, folder or git"),
    column("origin", text, "package name, folder name or repository URL"),
    column("version", text, "package version or commit; the content digest of a folder"),
    column("path", text, "path of the file inside its origin, with forward slashes"),
    column("licence", text, "SPDX licence expression, normalised"),
    column("licence_sha256", text, "digest of the licence text that came with this version"),
    column("source_sha256", text, "digest of the file's bytes as fetched"),
]

SOURCE_FILE = table(
    [column("file_id", text, "digest of origin, version, path and content: the row's identity")],
    ORIGIN,
    [
        column("package_sha256", text, "digest of all files of the source: names its shared copy"),
        column("text", text, "the file, decoded as Python itself would decode it"),
        column("modules", integer, "classes whose bases look like nn.Module", unit="classes"),
    ],
)
