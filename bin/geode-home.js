#!/usr/bin/env node
// `npx geode-home` shows what Geode is; with a command it is `geode`.
const { firstOf, handOver } = require('./hand-over.js');

const [first] = process.argv.slice(2);
if (first === undefined || first === '--once' || /^--port\b/.test(first))
  handOver(firstOf('dist/demo.js', 'scripts/demo.ts') ?? '');
else require('./geode.js');
