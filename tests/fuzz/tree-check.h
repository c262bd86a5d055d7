/*
 * A place for trees that archives are unpacked into, and what must hold of them: for the harnesses
 * that write files. No jail here: what keeps them inside are the rules of images/unpack/member.h alone, so
 * they are not to be run by root.
 */
#ifndef TESTS_FUZZ_TREE_CHECK_H
#define TESTS_FUZZ_TREE_CHECK_H

/* Makes an empty directory the working directory, with another one beside it. */
void tree_check_begin(void);

/*
 * Aborts if the tree holds anything but directories, plain files and links, if one of them has a
 * mode that member.h does not let through, or if what lies beside it was touched; then removes it.
 */
void tree_check_end(void);

#endif
