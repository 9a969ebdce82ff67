/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/clock.h - time that only goes forward. */
#ifndef TT_TENSOR_CLOCK_H
#define TT_TENSOR_CLOCK_H

double tt_now(void); /* seconds, monotonic, from an unknown origin */

#endif
