/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/assignment.h - which estimate belongs to which reference. */
#ifndef TT_TENSOR_ASSIGNMENT_H
#define TT_TENSOR_ASSIGNMENT_H

enum { TT_ASSIGNMENT_MOST = 8 };

/* The order for which the sum of VALUE[i * n + order[i]] is largest, the first of equals; 1 <= N <=
 * TT_ASSIGNMENT_MOST. */
void tt_best_assignment(int n, const double *value, int *order);

#endif
