/*
 * What the libraries that programs load into a Python use of its C API: the same in all versions since 3.9, without
 * its headers. Further functions are declared where they are used.
 *
 * Side: child, in the interpreter.  Source: docs.python.org/3/c-api.
 */
#ifndef IMAGES_RUNNERS_PYTHON_PYTHON_API_H
#define IMAGES_RUNNERS_PYTHON_PYTHON_API_H

#define METH_NOARGS 4
#define METH_O 8

typedef struct python_object python_object;

struct python_method {
    const char *name;
    python_object *(*call)(python_object *self, python_object *argument);
    int flags;
    const char *doc;
};

extern python_object *PyExc_ImportError;
python_object *PyCFunction_NewEx(struct python_method *method, python_object *self,
                                 python_object *module);
int PySys_SetObject(const char *name, python_object *value);
void PyErr_SetNone(python_object *exception);
void PyOS_AfterFork_Child(void);
void PyOS_BeforeFork(void);

#endif
