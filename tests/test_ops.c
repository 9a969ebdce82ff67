/* SPDX-License-Identifier: Apache-2.0 */
/* tests/test_ops.c - every op of kernels/ops.def; an op without tt_test_op_<name> fails to link. */
#include "tests/support/op_check.h"

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
#define OP(name) cmocka_unit_test(tt_test_op_##name),
#define OP_DNNL(name) OP(name)
#define VIEW(name) OP(name)
#include "kernels/ops.def"
#undef OP
#undef OP_DNNL
#undef VIEW
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
