#include "sandbox/jail/remedy.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* A host that refuses nothing. */
static struct host_facts usual(void)
{
    struct host_facts facts = {
        .kernel = "6.12.1-amd64",
        .kernel_major = 6,
        .kernel_minor = 12,
        .apparmor_restricts = FACT_UNKNOWN,
        .userns_clone = FACT_UNKNOWN,
    };
    for (size_t i = 0; i < NAMESPACE_KINDS; i++)
        facts.limits[i] = 15000;
    return facts;
}

static void check(unsigned step, int error, const struct host_facts *facts, const char *cause,
                  const char *action)
{
    struct remedy remedy;
    assert_true(remedy_find(step, error, facts, &remedy));
    if (strstr(remedy.cause, cause) == NULL || strstr(remedy.action, action) == NULL)
        fail_msg("cause: %s\naction: %s", remedy.cause, remedy.action);
}

static void a_hidden_clone3_is_blamed_on_the_filter_and_not_on_the_kernel(void **state)
{
    (void)state;
    struct host_facts facts = usual();
    facts.has_filter = true;
    check(STEP_CLONE, ENOSYS, &facts, "a seccomp filter hides the system call clone3",
          "Seccomp: 2");
    facts.container = CONTAINER_DOCKER;
    check(STEP_CLONE, ENOSYS, &facts, "a seccomp filter of this Docker container hides",
          "docker run --security-opt seccomp=seccomp.json --security-opt systempaths=unconfined");
    facts.container = CONTAINER_PODMAN;
    check(STEP_CLONE, ENOSYS, &facts, "of this podman container",
          "podman run --security-opt seccomp=seccomp.json --security-opt unmask=ALL");
    facts.container = CONTAINER_KUBERNETES;
    check(STEP_CLONE, ENOSYS, &facts, "of this Kubernetes pod", "doctor --profile kubernetes");
}

static void an_old_kernel_is_blamed_where_it_is_old(void **state)
{
    (void)state;
    struct host_facts facts = usual();
    strcpy(facts.kernel, "4.19.0");
    facts.kernel_major = 4;
    facts.kernel_minor = 19;
    check(STEP_CLONE, ENOSYS, &facts, "Linux 4.19.0 is too old", "a newer kernel");
    facts.kernel_major = 5;
    facts.kernel_minor = 10;
    check(STEP_REMOUNT_ROOT_READ_ONLY, ENOSYS, &facts, "is too old", "a newer kernel");
    check(STEP_CLONE, ENOSYS, &facts, "hides the system call clone3", "");
}

static void settings_that_refuse_are_named(void **state)
{
    (void)state;
    struct host_facts facts = usual();
    facts.userns_clone = 0;
    check(STEP_CLONE, EPERM, &facts, "kernel.unprivileged_userns_clone is 0",
          "sudo sysctl -w kernel.unprivileged_userns_clone=1");
    facts = usual();
    facts.apparmor_restricts = 1;
    static const unsigned steps[] = {STEP_CLONE,      STEP_NETWORK_NAMESPACE,
                                     STEP_NAMESPACES, STEP_PRIVATE_MOUNTS,
                                     STEP_HOSTNAME,   STEP_WAIT_FOR_ID_MAP};
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        check(steps[i], EACCES, &facts, "kernel.apparmor_restrict_unprivileged_userns is 1",
              "code-sandbox-mcp doctor --profile apparmor | sudo tee");
    strcpy(facts.apparmor, "editor");
    check(STEP_CLONE, EACCES, &facts, "the AppArmor profile editor of this process",
          "--profile apparmor");
    strcpy(facts.apparmor, "docker-default");
    facts.container = CONTAINER_DOCKER;
    check(STEP_PRIVATE_MOUNTS, EACCES, &facts, "profile docker-default of this Docker container",
          "--security-opt apparmor=unconfined");
}

static void a_profile_of_apparmor_is_blamed_for_what_it_denies(void **state)
{
    (void)state;
    struct host_facts facts = usual();
    strcpy(facts.program, "/opt/code-sandbox-mcp");
    strcpy(facts.apparmor, "editor");
    static const unsigned steps[] = {STEP_BEFORE, STEP_OPEN_ROOT, STEP_MAKE_PROC};
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        check(steps[i], EACCES, &facts, "the AppArmor profile editor of this process",
              "doctor --profile apparmor");
    facts.apparmor_is_parents = true;
    check(STEP_CLONE, EACCES, &facts, "the AppArmor profile editor of this process",
          "add the rule \"/opt/code-sandbox-mcp Ux,\" to the profile editor");
    facts.program[0] = '\0';
    check(STEP_CLONE, EACCES, &facts, "", "doctor --profile apparmor");
    struct remedy remedy;
    assert_false(remedy_find(STEP_OPEN_ROOT, ENOENT, &facts, &remedy));
}

static void limits_that_are_nothing_are_named(void **state)
{
    (void)state;
    struct host_facts facts = usual();
    check(STEP_CLONE, ENOSPC, &facts, "the limit of namespaces is reached", "sysctl(8)");
    facts.limits[NAMESPACE_PID] = 0;
    check(STEP_CLONE, ENOSPC, &facts, "max_pid_namespaces is 0",
          "sudo sysctl -w user.max_pid_namespaces=15000");
    facts.limits[NAMESPACE_NETWORK] = 0;
    check(STEP_NETWORK_NAMESPACE, ENOSPC, &facts, "max_net_namespaces is 0",
          "user.max_net_namespaces=");
    facts.limits[NAMESPACE_UTS] = 0;
    check(STEP_NAMESPACES, ENOSPC, &facts, "max_uts_namespaces is 0", "user.max_uts_namespaces=");
}

static void a_masked_proc_is_told_from_a_refusal(void **state)
{
    (void)state;
    struct host_facts facts = usual();
    facts.is_proc_masked = true;
    check(STEP_MAKE_PROC, EPERM, &facts, "parts of /proc are hidden", "findmnt -R /proc");
    facts.container = CONTAINER_PODMAN;
    check(STEP_MAKE_PROC, EPERM, &facts, "parts of /proc are hidden", "unmask=ALL");
    facts.is_proc_masked = false;
    facts.has_filter = true;
    check(STEP_MAKE_PROC, EPERM, &facts, "a seccomp filter of this podman container refuses it",
          "");
}

static void other_errors_are_not_blamed_on_the_host(void **state)
{
    (void)state;
    const struct host_facts facts = usual();
    struct remedy remedy;
    assert_false(remedy_find(STEP_OPEN_ROOT, EPERM, &facts, &remedy));
    assert_false(remedy_find(STEP_OPEN_ROOT, EACCES, &facts, &remedy));
    assert_false(remedy_find(STEP_EXECUTE, ENOENT, &facts, &remedy));
    assert_false(remedy_find(STEP_BEFORE, EPERM, &facts, &remedy));
    assert_string_equal(remedy.cause, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hidden_clone3_is_blamed_on_the_filter_and_not_on_the_kernel),
        cmocka_unit_test(an_old_kernel_is_blamed_where_it_is_old),
        cmocka_unit_test(settings_that_refuse_are_named),
        cmocka_unit_test(a_profile_of_apparmor_is_blamed_for_what_it_denies),
        cmocka_unit_test(limits_that_are_nothing_are_named),
        cmocka_unit_test(a_masked_proc_is_told_from_a_refusal),
        cmocka_unit_test(other_errors_are_not_blamed_on_the_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
