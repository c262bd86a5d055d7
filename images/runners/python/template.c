/*
 * The library that makes a template of a Python (sandbox/jail/child/fork_server.h): template.py loads it, at the end of site.
 *
 * When Python has started, it asks the functions of sys.path_hooks whether its program is a directory or an archive. Nothing
 * of Python is on the stack then, and nothing but the program is left to be done. PyInit_template() leaves such a
 * function there, and that serves. Each fork runs the program as Python itself does (PyRun_SimpleFileExFlags),
 * and ends as a snippet can see it, without taking apart what was there before it.
 *
 * It needs no headers of Python: what it uses is the same in all versions since 3.9. Side: child, in the interpreter.
 * Source: CPython, Modules/main.c, Python/pylifecycle.c (Py_FinalizeEx), Python/import.c.
 */
#include "images/runners/python/python_api.h"
#include "sandbox/base/run_paths.h"
#include "sandbox/jail/child/fork_server.h"

#include <link.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHANNEL_FD 3
#define ANSWERS_FD 5
#define PROGRAM RUN_WORK "/main.py" /* Python makes the path of its program absolute */
#define SIGNALS_MAX 64

extern python_object *PyExc_KeyboardInterrupt;
/* NOLINTNEXTLINE(*-reserved-identifier,cert-dcl*): its name in every version, behind Py_None */
extern python_object _Py_NoneStruct;
python_object *PyDict_GetItemString(python_object *dict, const char *name);
python_object *PyImport_GetModuleDict(void);
python_object *PyObject_CallMethod(python_object *object, const char *name, const char *format,
                                   ...);
python_object *PyObject_GetAttrString(python_object *object, const char *name);
python_object *PySys_GetObject(const char *name);
python_object *PyUnicode_DecodeFSDefault(const char *text);
const char *PyUnicode_AsUTF8(python_object *text);
python_object *PyDict_Keys(python_object *dict);
python_object *PyList_GetItem(python_object *list, long index);
long PyGC_Collect(void);
long PyList_Size(python_object *list);
int PyDict_DelItem(python_object *dict, python_object *key);
int PySet_Contains(python_object *set, python_object *key);
int PyList_Insert(python_object *list, long index, python_object *item);
int PyObject_SetAttrString(python_object *object, const char *name, python_object *value);
int PyObject_IsTrue(python_object *object);
int PyRun_SimpleFileExFlags(FILE *file, const char *name, int closes, void *flags);
int PySequence_DelItem(python_object *list, long index);
long PySequence_Index(python_object *list, python_object *item);
int Py_FinalizeEx(void);
void PyErr_Clear(void);
void PyErr_WriteUnraisable(python_object *where);
void Py_DecRef(python_object *object);
void Py_IncRef(python_object *object);

__attribute__((visibility("default"))) python_object *PyInit_template(void);

static struct sigaction actions[SIGNALS_MAX + 1];
static unsigned long long libraries; /* loaded before the fork */

/* What template.py leaves for the end of its forks, and the streams of before. */
static struct {
    python_object *main; /* a module with what follows, and the function nothing_is_left() */
    python_object *atexit;
    python_object *known; /* set of the names of modules */
    python_object *streams[2];
    python_object *hook; /* in sys.path_hooks */
} own;

/* Init has set all to what execve would leave; Python has its own for some. */
static void remember_signals(void)
{
    for (int number = 1; number <= SIGNALS_MAX; number++)
        sigaction(number, NULL, &actions[number]);
}

static void restore_signals(void)
{
    for (int number = 1; number <= SIGNALS_MAX; number++)
        if (actions[number].sa_handler != SIG_DFL)
            sigaction(number, &actions[number], NULL);
}

/* A borrowed reference, or NULL: it has not been imported. */
static python_object *module_of(const char *name)
{
    return PyDict_GetItemString(PyImport_GetModuleDict(), name);
}

/* Calls a method without arguments. An exception is told as one that nobody can catch. */
static bool call(python_object *object, const char *method)
{
    python_object *result = PyObject_CallMethod(object, method, NULL);
    if (result == NULL)
        PyErr_WriteUnraisable(object);
    else
        Py_DecRef(result);
    return result != NULL;
}

static bool is_true(python_object *object)
{
    bool is_so = object != NULL && PyObject_IsTrue(object) == 1;
    PyErr_Clear();
    return is_so;
}

/* With it, processes of multiprocessing prove that they belong together. */
static void draw_key_again(void)
{
    python_object *os = module_of("os");
    python_object *processes = module_of("multiprocessing.process");
    python_object *own_process =
        processes != NULL ? PyObject_CallMethod(processes, "current_process", NULL) : NULL;
    python_object *key =
        own_process != NULL && os != NULL ? PyObject_CallMethod(os, "urandom", "i", 32) : NULL;
    if (key != NULL)
        PyObject_SetAttrString(own_process, "authkey", key);
}

/* What has drawn random numbers before the fork would go on with the same in all forks. */
static void seed_again(void)
{
    python_object *numpy = module_of("numpy.random");
    python_object *tempfile = module_of("tempfile");
    if (numpy != NULL)
        call(numpy, "seed");
    if (tempfile != NULL)
        PyObject_SetAttrString(tempfile, "_name_sequence", &_Py_NoneStruct);
    draw_key_again();
    PyErr_Clear();
}

/* The directory of the program is the first that modules are looked for in. */
static void add_path(void)
{
    char directory[4096];
    python_object *path = PySys_GetObject("path");
    python_object *flags = PySys_GetObject("flags");
    bool is_safe =
        flags != NULL && is_true(PyObject_GetAttrString(flags, "safe_path")); /* PYTHONSAFEPATH */
    if (is_safe || path == NULL || getcwd(directory, sizeof(directory)) == NULL)
        return;
    python_object *text = PyUnicode_DecodeFSDefault(directory);
    if (text != NULL)
        PyList_Insert(path, 0, text);
}

static bool was_interrupted(void)
{
    return PySys_GetObject("last_type") ==
           PyExc_KeyboardInterrupt; /* of subclasses, Python tells as of others */
}

static void end_by_interrupt(void)
{
    signal(SIGINT, SIG_DFL);
    kill(getpid(), SIGINT);
}

/* False: one could not be flushed. The whole end tries it again, and tells. */
static bool flush_streams(void)
{
    static const char *const names[] = {"stdout", "stderr"};
    bool all = true;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        python_object *stream = PySys_GetObject(names[i]);
        if (stream == NULL || stream == &_Py_NoneStruct ||
            is_true(PyObject_GetAttrString(stream, "closed")))
            continue;
        all = PyObject_CallMethod(stream, "flush", NULL) != NULL && all;
        PyErr_Clear();
    }
    return all;
}

/* Lets go of what the snippet has put into places that were there before it. */
static void forget_snippet(void)
{
    static const char *const names[] = {"last_type", "last_value", "last_traceback", "last_exc"};
    python_object *modules = PyImport_GetModuleDict();
    python_object *loaded = PyDict_Keys(modules);
    PySys_SetObject("stdout", own.streams[0]);
    PySys_SetObject("stderr", own.streams[1]);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        PySys_SetObject(names[i], NULL);
    for (long i = 0; loaded != NULL && i < PyList_Size(loaded); i++) {
        python_object *name = PyList_GetItem(loaded, i);
        if (PySet_Contains(own.known, name) == 0)
            PyDict_DelItem(modules, name);
        PyErr_Clear();
    }
    PyGC_Collect();
}

/*
 * What Py_FinalizeEx() does, but for taking apart what was there before the snippet. False: that is needed, since
 * something is left that may want to be closed in its turn.
 */
static bool end_shortly(void)
{
    python_object *threading = module_of("threading");
    if (threading != NULL)
        call(threading, "_shutdown");
    call(own.atexit, "_run_exitfuncs");
    if (!flush_streams())
        return false;
    forget_snippet();
    return is_true(PyObject_CallMethod(own.main, "nothing_is_left", NULL)) && flush_streams();
}

static int take_count(struct dl_phdr_info *information, size_t size, void *count)
{
    (void)size;
    *(unsigned long long *)count = information->dlpi_adds;
    return 1;
}

/* How many the process has loaded in its life. */
static unsigned long long count_libraries(void)
{
    unsigned long long count = 0;
    dl_iterate_phdr(take_count, &count);
    return count;
}

/*
 * After a short end. What libraries do at exit(3) touches most of their pages, each of which would have to be copied; those
 * of the snippet's own choice may have something to say.
 */
static void leave(int status)
{
    if (count_libraries() != libraries)
        exit(status);
    fflush(NULL);
    _exit(status);
}

/* In a fork: what is left of Py_RunMain(). sys.exit() and its like end in Py_FinalizeEx() by themselves. */
static void run_program(void)
{
    restore_signals();
    PyOS_AfterFork_Child();
    seed_again();
    add_path();
    FILE *file = fopen(PROGRAM, "rbe");
    if (file == NULL)
        _exit(2);
    int status = PyRun_SimpleFileExFlags(file, PROGRAM, 1, NULL) == 0 ? 0 : 1;
    bool is_interrupted = status != 0 && was_interrupted();
    bool is_short = end_shortly();
    if (!is_short && Py_FinalizeEx() < 0)
        status = 120;
    if (is_interrupted)
        end_by_interrupt();
    if (is_short)
        leave(status);
    exit(status);
}

/* One of sys.path_hooks. */
static python_object *serve(python_object *self, python_object *path)
{
    (void)self;
    const char *name = PyUnicode_AsUTF8(path);
    if (name == NULL || strcmp(name, PROGRAM) != 0) {
        PyErr_Clear();
        PyErr_SetNone(PyExc_ImportError);
        return NULL;
    }
    python_object *hooks = PySys_GetObject("path_hooks");
    long place = hooks != NULL ? PySequence_Index(hooks, own.hook) : -1;
    if (place < 0 || PySequence_DelItem(hooks, place) < 0)
        _exit(1);
    remember_signals();
    libraries = count_libraries();
    PyOS_BeforeFork();
    _exit(fork_server_serve(CHANNEL_FD, ANSWERS_FD, run_program) == 0 ? 0 : 1);
}

/* Called by the import of template.py, which expects the error. */
python_object *PyInit_template(void)
{
    static struct python_method hook = {"template", serve, METH_O, NULL};
    python_object *hooks = PySys_GetObject("path_hooks");
    python_object *function = PyCFunction_NewEx(&hook, NULL, NULL);
    own.main = module_of("template");
    if (own.main == NULL || hooks == NULL || function == NULL)
        return NULL;
    Py_IncRef(own.main);
    own.atexit = PyObject_GetAttrString(own.main, "atexit");
    own.known = PyObject_GetAttrString(own.main, "known");
    own.streams[0] = PySys_GetObject("stdout");
    own.streams[1] = PySys_GetObject("stderr");
    if (own.atexit == NULL || own.known == NULL || own.streams[0] == NULL || own.streams[1] == NULL)
        return NULL;
    Py_IncRef(own.streams[0]);
    Py_IncRef(own.streams[1]);
    own.hook = function;
    PyList_Insert(hooks, 0, function);
    PyErr_SetNone(PyExc_ImportError);
    return NULL;
}
