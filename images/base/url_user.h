/*
 * Users, passwords and tokens in URLs, which records must not have: "https://USER:PASSWORD@HOST/".
 *
 * Side: parent.  Source: RFC 3986, 3.2.1.
 */
#ifndef IMAGES_BASE_URL_USER_H
#define IMAGES_BASE_URL_USER_H

/* Removes the user from each URL in a text, such as a command. */
void url_users_remove(char *text);

#endif
