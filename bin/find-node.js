// Plain CommonJS: an old Node runs it.
/**
 * The Node 24 that runs Geode: this process's own, or the one of an optional package. Undefined where there is none.
 * The package is asked and not `node_modules/.bin`: npm 10 leaves the link out.
 */
exports.findNode = () => {
  if (Number(process.versions.node.split('.')[0]) >= 24) return process.execPath;
  const platform = `${process.platform}-${process.arch}`;
  for (const name of [`node-${platform}`, `geode-home-node-${platform}`])
    try {
      return require.resolve(`${name}/bin/node`);
    } catch {}
  return undefined;
};
