/*
 * What a run's Python does before the snippet: files in $HOME that remove themselves.
 *
 * When Python starts, it imports a module usercustomize of the user's packages, in
 * $HOME/.local/lib/python3.N/site-packages. Ours takes into memory what is needed and removes every trace: no file,
 * path, module or variable is left for the snippet to see. Python of other names than python3.N starts as
 * it is, and so does one that looks for no user's packages, or for which the files have no room.
 *
 * Side: parent.  Source: Python, documentation of the module site; images/runners/python.
 */
#ifndef INTERPRETER_LANGUAGES_PYTHON_START_H
#define INTERPRETER_LANGUAGES_PYTHON_START_H

#include "interpreter/languages/program_start.h"

program_start_make python_start_make;

#endif
