#include "interpreter/files/media_type.h"

#include "interpreter/files/picture_header.h"
#include "sandbox/base/owned.h"

#include <string.h>
#include <strings.h>

/* Without pictures: their first bytes decide. */
static const struct {
    const char *extension, *type;
} types[] = {
    {"bz2", "application/x-bzip2"},
    {"c", "text/x-c"},
    {"css", "text/css"},
    {"csv", "text/csv"},
    {"db", "application/vnd.sqlite3"},
    {"docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
    {"flac", "audio/flac"},
    {"gz", "application/gzip"},
    {"htm", "text/html"},
    {"html", "text/html"},
    {"ics", "text/calendar"},
    {"ipynb", "application/x-ipynb+json"},
    {"js", "text/javascript"},
    {"json", "application/json"},
    {"jsonl", "application/jsonl"},
    {"log", "text/plain"},
    {"md", "text/markdown"},
    {"mjs", "text/javascript"},
    {"mp3", "audio/mpeg"},
    {"mp4", "video/mp4"},
    {"ods", "application/vnd.oasis.opendocument.spreadsheet"},
    {"odt", "application/vnd.oasis.opendocument.text"},
    {"parquet", "application/vnd.apache.parquet"},
    {"patch", "text/x-diff"},
    {"pdf", "application/pdf"},
    {"pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
    {"py", "text/x-python"},
    {"sh", "text/x-shellscript"},
    {"sql", "application/sql"},
    {"sqlite", "application/vnd.sqlite3"},
    {"svg", "image/svg+xml"},
    {"tar", "application/x-tar"},
    {"tex", "text/x-tex"},
    {"tgz", "application/gzip"},
    {"toml", "application/toml"},
    {"tsv", "text/tab-separated-values"},
    {"txt", "text/plain"},
    {"wasm", "application/wasm"},
    {"wav", "audio/wav"},
    {"webm", "video/webm"},
    {"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
    {"xml", "application/xml"},
    {"xz", "application/x-xz"},
    {"yaml", "application/yaml"},
    {"yml", "application/yaml"},
    {"zip", "application/zip"},
};

const char *media_type_of(const char *path, const char *head, size_t head_length)
{
    const char *picture = picture_type(head, head_length);
    if (picture != NULL)
        return picture;
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot != NULL && dot != name && i < ARRAY_LENGTH(types); i++) {
        if (strcasecmp(dot + 1, types[i].extension) == 0)
            return types[i].type;
    }
    return MEDIA_TYPE_UNKNOWN;
}
