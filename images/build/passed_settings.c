#include "images/build/passed_settings.h"

#include "sandbox/base/owned.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/*
 * The settings that are passed on; all others stay here. Names of variables in upper or lower case, with '-'
 * for '_'; '*' stands for any end. Sources: pip's "Configuration" and its general options, npm's config(7).
 */
static const struct passed_setting passed_settings[] = {
    {"http_proxy"},
    {"https_proxy"},
    {"no_proxy"},
    {"all_proxy"},
    {"SSL_CERT_FILE", NULL, VALUE_CERTIFICATES},
    {"SSL_CERT_DIR", NULL, VALUE_CERTIFICATE_FOLDER},
    {"CURL_CA_BUNDLE", NULL, VALUE_CERTIFICATES},
    {"REQUESTS_CA_BUNDLE", NULL, VALUE_CERTIFICATES},
    {"NODE_EXTRA_CA_CERTS", NULL, VALUE_CERTIFICATES},
    {"GIT_SSL_CAINFO", NULL, VALUE_CERTIFICATES},
    {"PIP_INDEX_URL"},
    {"PIP_EXTRA_INDEX_URL"},
    {"PIP_NO_INDEX"},
    {"PIP_FIND_LINKS", "find-links", VALUE_PACKAGES},
    {"PIP_CONSTRAINT", "constraint", VALUE_CONSTRAINTS},
    {"PIP_BUILD_CONSTRAINT", "build-constraint", VALUE_CONSTRAINTS},
    {"PIP_TRUSTED_HOST"},
    {"PIP_PROXY"},
    {"PIP_CERT", "cert", VALUE_CERTIFICATES},
    {"PIP_CLIENT_CERT", "client-cert", VALUE_CLIENT_CERTIFICATE},
    {"PIP_CONFIG_FILE", NULL, VALUE_CONFIGURATION},
    {"PIP_TIMEOUT"},
    {"PIP_DEFAULT_TIMEOUT"},
    {"PIP_RETRIES"},
    {"PIP_RESUME_RETRIES"},
    {"PIP_ONLY_BINARY"},
    {"PIP_NO_BINARY"},
    {"PIP_PREFER_BINARY"},
    {"PIP_PRE"},
    {"PIP_REQUIRE_HASHES"},
    {"PIP_USE_FEATURE"},
    {"PIP_USE_DEPRECATED"},
    {"PIP_UPLOADED_PRIOR_TO"},
    {"npm_config_registry"},
    {"npm_config_@*"}, /* the registry of a scope */
    {"npm_config_//*"}, /* what a registry asks for */
    {"npm_config__auth"},
    {"npm_config__authtoken"},
    {"npm_config_proxy"},
    {"npm_config_https_proxy"},
    {"npm_config_noproxy"},
    {"npm_config_ca"},
    {"npm_config_cert"},
    {"npm_config_key"},
    {"npm_config_cafile", "cafile", VALUE_CERTIFICATES},
    {"npm_config_strict_ssl"},
    {"npm_config_maxsockets"},
    {"npm_config_fetch_retries"},
    {"npm_config_fetch_retry_factor"},
    {"npm_config_fetch_retry_mintimeout"},
    {"npm_config_fetch_retry_maxtimeout"},
    {"npm_config_fetch_timeout"},
    {"npm_config_before"},
    {"npm_config_min_release_age"},
    {"npm_config_min_release_age_exclude"},
    {"npm_config_allow_directory"},
    {"npm_config_allow_file"},
    {"npm_config_allow_git"},
    {"npm_config_allow_remote"},
    {"npm_config_replace_registry_host"},
    {"npm_config_ignore_scripts"},
    {"npm_config_allow_scripts"},
    {"npm_config_strict_allow_scripts"},
    {"npm_config_dangerously_allow_all_scripts"},
    {"npm_config_legacy_peer_deps"},
    {"npm_config_strict_peer_deps"},
    {"npm_config_engine_strict"},
    {"npm_config_omit"},
    {"npm_config_include"},
    {"npm_config_userconfig", NULL, VALUE_CONFIGURATION},
    {"npm_config_globalconfig", NULL, VALUE_CONFIGURATION},
};

/* Whether NAME=VALUE has that name. */
static bool name_matches(const char *pair, const char *pattern)
{
    for (; *pattern != '\0' && *pattern != '*'; pattern++, pair++) {
        int byte = *pair == '-' ? '_' : (unsigned char)*pair;
        if (byte == '\0' || tolower(byte) != tolower((unsigned char)*pattern))
            return false;
    }
    return *pattern == '*' ? strchr(pair, '=') != NULL : *pair == '=';
}

const struct passed_setting *passed_setting_of(const char *pair)
{
    for (size_t i = 0; i < ARRAY_LENGTH(passed_settings); i++)
        if (name_matches(pair, passed_settings[i].variable))
            return &passed_settings[i];
    return NULL;
}

const struct passed_setting *passed_setting_of_line(const char *line, const char **ret_value)
{
    line += strspn(line, " \t");
    size_t length = strcspn(line, " \t=\n");
    const char *value = line + length + strspn(line + length, " \t");
    for (size_t i = 0; *value == '=' && i < ARRAY_LENGTH(passed_settings); i++) {
        const char *key = passed_settings[i].key;
        if (key != NULL && strlen(key) == length && strncmp(line, key, length) == 0) {
            *ret_value = value + 1;
            return &passed_settings[i];
        }
    }
    return NULL;
}
