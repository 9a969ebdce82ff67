/* SPDX-License-Identifier: Apache-2.0 */
/* tests/support/temp.h - a folder of its own for each test: cmocka's state is its path. */
#ifndef TT_TESTS_SUPPORT_TEMP_H
#define TT_TESTS_SUPPORT_TEMP_H

int temp_setup(void **state);
int temp_teardown(void **state);
int temp_entries(const char *folder); /* everything in it, hidden files too */

#endif
