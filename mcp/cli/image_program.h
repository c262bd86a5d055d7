/*
 * The program that fetches images and adds to them: executed in the place of this one.
 *
 * Side: parent.
 */
#ifndef MCP_CLI_IMAGE_PROGRAM_H
#define MCP_CLI_IMAGE_PROGRAM_H

/* Goes on as its command `word` with these arguments. Returns the exit status only of a failure. */
int image_program_execute(const char *word, int argc, char **argv);

#endif
