/* SPDX-License-Identifier: Apache-2.0 */
/* bin/commands.h - the commands' entry points. argv[0] is the command's name; the result is the exit code. */
#ifndef TT_BIN_COMMANDS_H
#define TT_BIN_COMMANDS_H

#define CMD(name, computes, help) int tt_cmd_##name(int argc, char **argv);
#include "bin/commands.def"
#undef CMD

#endif
