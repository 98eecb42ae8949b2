#!/bin/sh
# launch.sh NAME BUILD HOW COMMAND...: a test of ctest's (cmake/GlowTest.cmake). Prints on a failure the
# command that repeats it. GLOW_SLICE is K/N, or `all`, as is none. HOW is `whole`, or `sliced` for a
# command that takes --slice K/N, or the one slice that the test belongs to.
name=$1 build=$2 how=$3
shift 3
slice=${GLOW_SLICE:-all}
case $how,$slice in
whole,* | *,all) ;;
sliced,*) set -- "$@" --slice "$slice" ;;
"${slice%/*}",*) ;;
*)
  echo "skipped: belongs to slice $how, this is $slice"
  exit 77
  ;;
esac
"$@"
status=$?
if [ $status -ne 0 ] && [ $status -ne 77 ]; then
  pattern=$(printf %s "$name" | sed 's/\./\\./g')
  echo "repeat: GLOW_SLICE=$slice ctest --test-dir $build --output-on-failure -R '^$pattern\$'"
fi
exit $status
