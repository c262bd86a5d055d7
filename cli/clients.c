#include "cli/clients.h"

#include "images/store/xdg.h"
#include "sandbox/base/json.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

#define SERVER_NAME "code-sandbox"
#define JSON_MAX 16384

/* How a client is told of a server. */
enum registration {
    BY_COMMAND, /* `how` is a command to which that of the server is added */
    BY_FILE, /* `how` is a file below the home, a JSON object whose member `key` has the servers */
};

static const struct client {
    const char *title;
    const char *program; /* in PATH */
    const char *directory; /* below the home */
    enum registration registration;
    const char *how;
    const char *key;
} clients[] = {
    {"Claude Code", "claude", ".claude", BY_COMMAND,
     "claude mcp add --scope user " SERVER_NAME " --", NULL},
    {"Codex", "codex", ".codex", BY_COMMAND, "codex mcp add " SERVER_NAME " --", NULL},
    {"Gemini CLI", "gemini", ".gemini", BY_COMMAND, "gemini mcp add --scope user " SERVER_NAME,
     NULL},
    {"opencode", "opencode", ".config/opencode", BY_COMMAND, "opencode mcp add " SERVER_NAME " --",
     NULL},
    {"VS Code", "code", ".config/Code", BY_FILE, ".config/Code/User/mcp.json", "servers"},
    {"Cursor", "cursor", ".cursor", BY_FILE, ".cursor/mcp.json", "mcpServers"},
    {"Windsurf", "windsurf", ".codeium/windsurf", BY_FILE, ".codeium/windsurf/mcp_config.json",
     "mcpServers"},
};

/* As a word of a shell's command line. */
static void print_word(const char *word, FILE *stream)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+";
    if (word[strspn(word, plain)] == '\0') {
        fputs(word, stream);
        return;
    }
    fputc('\'', stream);
    for (const char *c = word; *c != '\0'; c++)
        fputs(*c == '\'' ? "'\\''" : (char[]){*c, '\0'}, stream);
    fputc('\'', stream);
}

/* {"mcpServers": {"code-sandbox": {"command": SERVER}}} */
static void print_json(const char *key, const char *server, FILE *stream)
{
    OWNED(buffer_release) struct buffer text = BUFFER(JSON_MAX);
    struct json_writer *writer = NULL;
    if (json_writer_open(&text, &writer) < 0)
        return;
    json_begin_object(writer);
    json_key(writer, key);
    json_begin_object(writer);
    json_key(writer, SERVER_NAME);
    json_begin_object(writer);
    json_text_member(writer, "command", server);
    json_end_object(writer);
    json_end_object(writer);
    json_end_object(writer);
    if (json_writer_close(writer) == 0)
        fprintf(stream, "%.*s\n", (int)text.length, text.data);
}

int clients_find_program(const char *name, char **ret_path)
{
    const char *directories = getenv("PATH");
    while (directories != NULL && *directories != '\0') {
        size_t length = strcspn(directories, ":");
        OWNED_MEMORY char *path = NULL;
        if (asprintf(&path, "%.*s/%s", (int)length, directories, name) < 0) {
            path = NULL;
            return -ENOMEM;
        }
        if (path[0] == '/' && access(path, X_OK) == 0) {
            *ret_path = pointer_take(&path);
            return 0;
        }
        directories += length + (directories[length] == ':');
    }
    return -ENOENT;
}

static bool is_below_home(const char *path)
{
    OWNED_MEMORY char *whole = NULL;
    const char *home = xdg_home();
    if (home == NULL || asprintf(&whole, "%s/%s", home, path) < 0) {
        whole = NULL;
        return false;
    }
    return access(whole, F_OK) == 0;
}

static bool is_here(const struct client *client)
{
    OWNED_MEMORY char *path = NULL;
    return clients_find_program(client->program, &path) == 0 || is_below_home(client->directory);
}

static void print_client(const struct client *client, const char *server, FILE *stream)
{
    fprintf(stream, "  %-12s ", client->title);
    if (client->registration == BY_COMMAND) {
        fprintf(stream, "%s ", client->how);
        print_word(server, stream);
        fputc('\n', stream);
        return;
    }
    fprintf(stream, "in ~/%s: ", client->how);
    print_json(client->key, server, stream);
}

void clients_print(const char *server, FILE *stream)
{
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(clients); i++) {
        if (!is_here(&clients[i]))
            continue;
        if (count++ == 0)
            fputs("To add the server to a client of yours:\n", stream);
        print_client(&clients[i], server, stream);
    }
    if (count > 0)
        return;
    fputs("No MCP client that this program knows is here. Most of them take this in their "
          "configuration:\n  ",
          stream);
    print_json("mcpServers", server, stream);
}
