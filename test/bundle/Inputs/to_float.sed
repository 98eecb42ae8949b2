# A graph of half precision in float: its weights are cast when they are materialized.
/= resource\(/ {s/constant @"?([^" ]+)"? : float16(<[^>]*>) = (resource\([^)]*\)).*/constant @"half.\1" : float16\2 = \3\n  constant @"\1" : float\2 = eval { %0 = Cast(@"half.\1") {to = float} : float\2  yield %0 }/;b}
s/float16</float</g
s/to = float16/to = float/
