/* vector.h -- which vector instructions the inner loops of lib/text use.
   SPDX-License-Identifier: Apache-2.0

   Private to lib/text.  Ids never depend on it: each loop has a plain definition, and the tests
   compare all versions.  */

#ifndef TEXT_VECTOR_H
#define TEXT_VECTOR_H

enum mm_vector
{
  MM_VECTOR_PLAIN,
  MM_VECTOR_AVX2,               /* with BMI2 and AES, as all processors that have it */
  MM_VECTOR_AVX512,             /* with VBMI2: from Ice Lake and Zen 4 on */
  MM_N_VECTORS
};

/* The widest of this processor and build; the environment variable MM_CPU (minimind(7)) may ask
   for less.  Cheap to call.  */
enum mm_vector mm_vector_best (void);

/* Does this processor and build have V, whatever MM_CPU says?  */
int mm_vector_has (enum mm_vector v);

#endif /* TEXT_VECTOR_H */
