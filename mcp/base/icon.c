#include "mcp/base/icon.h"

/* A prompt in a dark box. */
static const char image[] =
    "data:image/png;base64,"
    "iVBORw0KGgoAAAANSUhEUgAAADAAAAAwAgMAAAAqbBEUAAAACVBMVEUAAAAfKTdu57fWvXHNAAAAA3RSTlMA"
    "//9EUNYhAAAAcUlEQVR42mNgoC5gDIUCByBHFMYJAXJC4QCNw4jgOBDPCVuJzFmFwpmKzFmKZMCqlUicrFVI"
    "nCioJjAHpgliKVQThJOFzInCKYOsB8U0FHtQXIDsNpCWVauABMw/SJxQJM5KJA5R4YY7FlAjCyUaqQkArbKN"
    "fjy2ZskAAAAASUVORK5CYII=";

void icon_write_member(struct json_writer *writer, enum version version)
{
    if (version < VERSION_2025_11_25)
        return;
    json_key(writer, "icons");
    json_begin_array(writer);
    json_begin_object(writer);
    json_text_member(writer, "src", image);
    json_text_member(writer, "mimeType", "image/png");
    json_key(writer, "sizes");
    json_begin_array(writer);
    json_text(writer, "48x48");
    json_end_array(writer);
    json_end_object(writer);
    json_end_array(writer);
}
