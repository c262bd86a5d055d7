#include "interpreter/folders/folder_patches.h"

#include "sandbox/base/owned.h"

void folder_patches_release(struct folder_patches *patches)
{
    for (size_t i = 0; i < patches->count; i++) {
        struct folder_patch *patch = &patches->list[i];
        changes_release(&patch->changes);
        memory_release(&patch->failure);
        memory_release(&patch->name);
        memory_release(&patch->path);
    }
    patches->count = 0;
    json_release(&patches->told);
}
