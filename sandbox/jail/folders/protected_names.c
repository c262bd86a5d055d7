#include "sandbox/jail/folders/protected_names.h"

#include "sandbox/base/owned.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

/*
 * Settings of tools that run programs named in them when the folder is opened or entered, or when their
 * usual commands run, and hooks. docs/folders.md has the list for people.
 *
 * A .git is protected whole: what git may have to write there (index.lock, objects) cannot be told by
 * mounts from what makes it run commands (commondir, hooks, config, rebase-merge).
 */
static const char *const protected_names[] = {
    ".git",
    ".githooks",
    ".husky",
    ".hg",
    ".jj",
    ".sl",
    ".mcp.json",
    ".envrc",
    ".direnv",
    "mise.toml",
    ".mise.toml",
    "mise.local.toml",
    ".mise.local.toml",
    ".mise",
    ".tool-versions",
    "rust-toolchain",
    "rust-toolchain.toml",
    ".claude",
    ".codex",
    ".gemini",
    ".opencode",
    "opencode.json",
    "opencode.jsonc",
    ".aider.conf.yml",
    ".amazonq",
    ".continue",
    ".crush.json",
    "crush.json",
    ".factory",
    ".junie",
    ".kiro",
    ".qwen",
    ".roo",
    ".trae",
    ".cursor",
    ".windsurf",
    ".vscode",
    ".theia",
    ".idea",
    ".zed",
    ".helix",
    ".devcontainer",
    ".devcontainer.json",
    ".exrc",
    ".vimrc",
    ".nvimrc",
    ".nvim.lua",
    ".dir-locals.el",
    ".dir-locals-2.el",
    ".gdbinit",
    ".lldbinit",
    ".pdbrc",
    ".Rprofile",
    ".Renviron",
    ".irbrc",
    ".pryrc",
    ".iex.exs",
    ".ghci",
    ".ocamlinit",
    ".octaverc",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pnpmfile.cjs",
    ".pnpmfile.mjs",
    "pnpm-workspace.yaml",
    ".cargo",
    ".pre-commit-config.yaml",
    ".pre-commit-config.yml",
    "prek.toml",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    "config.fish",
};

/* lefthook.yml, .lefthook.yml, lefthook-local.yml, and so on. */
static bool is_of_lefthook(const char *name)
{
    static const char *const begins[] = {"lefthook.", ".lefthook.", "lefthook-local.",
                                         ".lefthook-local."};
    static const char *const ends[] = {"yml", "yaml", "toml", "json", "jsonc"};
    for (size_t i = 0; i < ARRAY_LENGTH(begins); i++)
        for (size_t j = 0; j < ARRAY_LENGTH(ends); j++)
            if (strncasecmp(name, begins[i], strlen(begins[i])) == 0 &&
                strcasecmp(name + strlen(begins[i]), ends[j]) == 0)
                return true;
    return false;
}

/* In any case, which some file systems do not distinguish. */
bool protected_names_have(const char *name)
{
    for (size_t i = 0; i < ARRAY_LENGTH(protected_names); i++)
        if (strcasecmp(name, protected_names[i]) == 0)
            return true;
    return is_of_lefthook(name);
}

const char *protected_names_at(size_t i)
{
    return i < ARRAY_LENGTH(protected_names) ? protected_names[i] : NULL;
}

enum region protected_names_enter(enum region region, const char *name, enum folder_care *ret_care)
{
    *ret_care = CARE_NONE;
    if (region == REGION_PROTECTED)
        return REGION_PROTECTED;
    if (region == REGION_PLAIN && strcasecmp(name, ".github") == 0) {
        *ret_care = CARE_PIN;
        return REGION_GITHUB;
    }
    if (!protected_names_have(name) && !(region == REGION_GITHUB && strcasecmp(name, "hooks") == 0))
        return REGION_PLAIN;
    *ret_care = CARE_PROTECT;
    return REGION_PROTECTED;
}

enum folder_care protected_names_care(enum region region, const char *name)
{
    enum folder_care care;
    protected_names_enter(region, name, &care);
    return care != CARE_NONE ? CARE_PROTECT
                             : CARE_NONE; /* a link may lead to what has to be read */
}
