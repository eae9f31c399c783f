#!/usr/bin/env bash
# Releases the version that CMakeLists.txt names: packages, source and checksums in build/releases/VERSION, and the tag vVERSION
# whose message is that version's part of CHANGELOG.md. Nothing is pushed or uploaded.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() { echo "$0: $*" >&2; exit 2; }

version=$(sed -n 's/^project(ergometer VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
[ -z "$(git status --porcelain)" ] || fail "there are changes that are not committed (git status)"
! git rev-parse --quiet --verify "refs/tags/v$version" >/dev/null ||
  fail "v$version is released already; CMakeLists.txt names the next version"
changes=$(awk -v heading="## $version" '$0 == heading {told = 1; next} /^## / {told = 0} told' CHANGELOG.md)
[ -n "$changes" ] || fail "CHANGELOG.md has no part '## $version'; '## Unreleased' gets that name"

out=build/releases/$version
rm -rf "$out"
mkdir -p "$out"
for kind in deb wheel binary container; do
  made=$(./scripts/package.sh "$kind") && status=0 || status=$?
  case $status in
    0) cp "$made" "$out" ;;
    3) [ "$kind" = container ] || exit 3; echo "$0: this release has no image" >&2 ;;
    *) exit "$status" ;;
  esac
done
git archive --prefix="ergometer-$version/" HEAD | gzip -n >"$out/ergometer-$version.tar.gz"
(cd "$out" && sha256sum -- * >SHA256SUMS)
git tag --annotate --cleanup=verbatim --message "Ergometer $version"$'\n\n'"$changes" "v$version"
cat "$out/SHA256SUMS"
echo "$0: v$version is tagged here; git push origin v$version publishes it" >&2
