/*
 * The settings of pip and npm that installers get, as variables and in configuration files; all others stay on the host.
 *
 * Side: parent. Source: pip's "Configuration" and its general options, npm's config(7).
 */
#ifndef IMAGES_BUILD_PASSED_SETTINGS_H
#define IMAGES_BUILD_PASSED_SETTINGS_H

/* What the value of a setting is. Installers are shown the files that it names, and nothing else. */
enum value_kind {
    VALUE_PLAIN,
    VALUE_CERTIFICATES, /* a file in PEM form, without keys; only the certificates are shown */
    VALUE_CERTIFICATE_FOLDER, /* as c_rehash(1) makes them */
    VALUE_CLIENT_CERTIFICATE, /* a file with a certificate and its key */
    VALUE_CONFIGURATION, /* a file of settings; only those that are passed on are shown */
    VALUE_OWN_CONFIGURATION, /* likewise, where programs look for it by default: there it may be a link */
    VALUE_PACKAGES, /* paths and URLs, separated by white space: of packages, and of directories of them */
    VALUE_CONSTRAINTS, /* likewise, of files of constraints; only these are shown */
};

struct passed_setting {
    const char *variable;
    const char *key; /* in a configuration file whose file is shown; NULL: none */
    enum value_kind kind;
};

/* The setting with the name of NAME=VALUE; NULL: it is not passed on. */
const struct passed_setting *passed_setting_of(const char *pair);

/* The setting that a line KEY = VALUE is of, and its value; NULL: none whose file is shown. */
const struct passed_setting *passed_setting_of_line(const char *line, const char **ret_value);

#endif
