/*
 * A walk through folders that snippets may change: folder_scan.c reads directories, folder_follow.c
 * follows what is found there to other places.
 *
 * Side: parent.
 */
#ifndef SANDBOX_JAIL_FOLDERS_FOLDER_WALK_H
#define SANDBOX_JAIL_FOLDERS_FOLDER_WALK_H

#include "sandbox/jail/folders/file_links.h"
#include "sandbox/jail/folders/folder.h"
#include "sandbox/jail/folders/folder_parts.h"
#include "sandbox/jail/folders/protected_names.h"

#include <dirent.h>
#include <sys/stat.h>

/* A directory being read; the path is that of its entries, up to their names. */
struct level {
    int fd;
    char *path; /* PATH_MAX bytes, shared by all levels */
    size_t length;
    enum region region;
    unsigned depth;
};

struct folder_walk {
    const struct folders *folders;
    struct folder_scan *scans;
    struct fault *fault;
    size_t at; /* index of the folder being read */
    size_t names; /* looked at in it, or in all parts, of FOLDER_NAMES_MAX */
    struct file_links links; /* of protected files */
    int (*look)(struct folder_walk *walk, const struct level *level, const struct dirent *entry);
};

const struct folder *walk_folder(const struct folder_walk *walk);

/* Each sets the fault of the walk and returns its error. */
int walk_refuse(const struct folder_walk *walk, const char *what, int limit);
int walk_refuse_names(const struct folder_walk *walk);
int walk_refuse_memory(const struct folder_walk *walk);
/* What is not seen cannot be protected. */
int walk_refuse_to_read(const struct folder_walk *walk, int error, const char *path);

/* 0, or a negative errno with its fault, as all that follow. */
int walk_count_name(struct folder_walk *walk);
int walk_add_part(struct folder_walk *walk, size_t folder, const char *path,
                  const struct stat *about, enum folder_care care);

/* Remembers a protected file that has other names. */
int walk_add_links(struct folder_walk *walk, const struct stat *about);

/*
 * Protects what a protected file or link leads to; it has that name in the directory `level`, and level->path is
 * its path.
 */
int walk_follow_file(struct folder_walk *walk, const struct level *level, const char *name);
int walk_follow_link(struct folder_walk *walk, const struct level *level, const char *name);

/*
 * Protects what the repositories that the folder lies in lead to, which git finds from there, and what links of
 * protected names above it do.
 */
int walk_follow_above(struct folder_walk *walk);

/* Keeps the directories above one of git's where they are, so that no other repository takes its place. */
int walk_pin_above(struct folder_walk *walk, const char *path);

#endif
