#include "cli/line_editor.h"

#include "sandbox/base/owned.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

/* What of histedit.h is used, as it has been since 2016. */
typedef struct editline EditLine;
typedef struct history History;

struct history_event {
    int number;
    const char *text;
};

enum {
    EL_PROMPT = 0,
    EL_EDITOR = 2,
    EL_SIGNAL = 3,
    EL_HIST = 10,
    EL_GETCFN = 13,
    EL_CLIENTDATA = 14
};
enum { H_SETSIZE = 1, H_ENTER = 10, H_LOAD = 17, H_SAVE = 18, H_SETUNIQUE = 20 };

struct library {
    void *handle; /* owned */
    EditLine *(*el_init)(const char *, FILE *, FILE *, FILE *);
    void (*el_end)(EditLine *);
    const char *(*el_gets)(EditLine *, int *);
    int (*el_set)(EditLine *, int, ...);
    int (*el_get)(EditLine *, int, ...);
    History *(*history_init)(void);
    void (*history_end)(History *);
    int (*history)(History *, struct history_event *, int, ...);
};

struct line_editor {
    struct library library;
    struct line_source source;
    EditLine *edit; /* owned */
    History *history; /* owned */
    const char *path; /* of its file, borrowed; or NULL */
    const char *prompt; /* borrowed, while a line is read */
    mbstate_t state;
    int error; /* why reading ended, or 0 */
};

static bool find_all(struct library *library)
{
    const struct {
        const char *name;
        void *place;
    } functions[] = {
        {"el_init", &library->el_init},         {"el_end", &library->el_end},
        {"el_gets", &library->el_gets},         {"el_set", &library->el_set},
        {"el_get", &library->el_get},           {"history_init", &library->history_init},
        {"history_end", &library->history_end}, {"history", &library->history},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(functions); i++) {
        void *found = dlsym(library->handle, functions[i].name);
        if (found == NULL)
            return false;
        memcpy(functions[i].place, &found, sizeof(found));
    }
    return true;
}

static bool load(struct library *library)
{
    static const char *const names[] = {"libedit.so.2", "libedit.so.0"}; /* of Debian; of others */
    for (size_t i = 0; i < ARRAY_LENGTH(names) && library->handle == NULL; i++)
        library->handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library->handle != NULL && find_all(library);
}

static struct line_editor *editor_of(const struct library *library, EditLine *edit)
{
    void *data = NULL;
    library->el_get(edit, EL_CLIENTDATA, &data);
    return data;
}

/* libedit hands its callbacks nothing but the EditLine, and el_get() is part of what has been loaded. */
static const struct library *loaded;

static const char *get_prompt(EditLine *edit)
{
    return editor_of(loaded, edit)->prompt;
}

/* A character of UTF-8, byte by byte. As el_rfunc_t: 1, 0 at the end, -1. */
static int get_character(EditLine *edit, wchar_t *ret_character)
{
    struct line_editor *editor = editor_of(loaded, edit);
    for (;;) {
        char byte;
        int r = editor->source.get_byte(editor->source.data, &byte);
        if (r <= 0) {
            editor->error = r;
            return r < 0 ? -1 : 0;
        }
        size_t length = mbrtowc(ret_character, &byte, 1, &editor->state);
        if (length == (size_t)-1)
            memset(&editor->state, 0, sizeof(editor->state)); /* no character: passed over */
        else if (length != (size_t)-2)
            return 1;
    }
}

/* The terminal's own, or one with UTF-8, which every terminal has today. */
static void choose_characters(void)
{
    setlocale(LC_CTYPE, "");
    if (MB_CUR_MAX == 1)
        setlocale(LC_CTYPE, "C.UTF-8");
}

static void open_history(struct line_editor *editor)
{
    struct history_event event;
    const struct library *library = &editor->library;
    library->history(editor->history, &event, H_SETSIZE, HISTORY_LINES_MAX);
    library->history(editor->history, &event, H_SETUNIQUE, 1);
    if (editor->path != NULL)
        library->history(editor->history, &event, H_LOAD, editor->path);
    library->el_set(editor->edit, EL_HIST, library->history, editor->history);
}

/* Nobody else may read it, not even before libedit says so. */
static void save_history(struct line_editor *editor)
{
    struct history_event event;
    OWNED_FD int fd = open(editor->path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 && fchmod(fd, 0600) == 0)
        editor->library.history(editor->history, &event, H_SAVE, editor->path);
}

void line_editor_close(struct line_editor *editor)
{
    if (editor == NULL)
        return;
    if (editor->history != NULL && editor->path != NULL)
        save_history(editor);
    if (editor->edit != NULL)
        editor->library.el_end(editor->edit);
    if (editor->history != NULL)
        editor->library.history_end(editor->history);
    if (editor->library.handle != NULL)
        dlclose(editor->library.handle);
    loaded = NULL;
    free(editor);
}

static bool can_be_used(void)
{
    const char *terminal = getenv("TERM");
    return isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1 && terminal != NULL &&
           terminal[0] != '\0' && strcmp(terminal, "dumb") != 0;
}

struct line_editor *line_editor_open(const struct line_source *source, const char *history)
{
    struct line_editor *editor = can_be_used() ? calloc(1, sizeof(*editor)) : NULL;
    if (editor == NULL)
        return NULL;
    editor->source = *source;
    const struct library *library = loaded = &editor->library;
    if (load(&editor->library)) {
        choose_characters();
        editor->edit = library->el_init("code-sandbox-mcp", stdin, stderr, stderr);
        editor->history = library->history_init();
    }
    if (editor->edit == NULL || editor->history == NULL) {
        line_editor_close(editor);
        return NULL;
    }
    editor->path = history;
    library->el_set(editor->edit, EL_CLIENTDATA, editor);
    library->el_set(editor->edit, EL_EDITOR, "emacs");
    library->el_set(editor->edit, EL_SIGNAL, 0);
    library->el_set(editor->edit, EL_PROMPT, get_prompt);
    library->el_set(editor->edit, EL_GETCFN, get_character);
    open_history(editor);
    return editor;
}

int line_editor_read(struct line_editor *editor, const char *prompt, struct buffer *line)
{
    int length = 0;
    struct history_event event;
    editor->prompt = prompt;
    editor->error = 0;
    const char *text = editor->library.el_gets(editor->edit, &length);
    if (text == NULL || length <= 0)
        return editor->error;
    if (text[strspn(text, " \t\r\n")] != '\0')
        editor->library.history(editor->history, &event, H_ENTER, text);
    int r = buffer_append(line, text, (size_t)length);
    return r < 0 ? r : 1;
}
