#include "images/base/url_user.h"

#include <string.h>

#define ENDS "/?#\\ \t\r\n\"" /* of a host, or of the URL in a command: RFC 3986, 3.2 */

void url_users_remove(char *text)
{
    for (char *at = text; (at = strstr(at, "://")) != NULL;) {
        char *host = at += strlen("://");
        for (size_t i = 0, length = strcspn(at, ENDS); i < length; i++)
            if (at[i] == '@')
                host = at + i + 1;
        memmove(at, host, strlen(host) + 1);
    }
}
