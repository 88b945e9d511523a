/** A program for E2B, as it stands: where its sandboxes are, the environment says. See docs/doors/e2b.md. */
import { Sandbox } from '@e2b/code-interpreter';

const sandbox = await Sandbox.create({ timeoutMs: 60_000 });
try {
  await sandbox.files.write('people.csv', 'name,age\nAda,36\nAlan,41\n');
  const { stdout } = await sandbox.commands.run('wc -l < /home/user/people.csv');
  console.log(`lines: ${stdout.trim()}`);

  await sandbox.runCode(`
    import csv
    people = list(csv.DictReader(open('/home/user/people.csv')))
  `);
  const { text } = await sandbox.runCode('sum(int(each["age"]) for each in people) / len(people)');
  console.log(`mean age: ${text}`);

  const refused = await sandbox.runCode(
    'import urllib.request; urllib.request.urlopen("http://example.com")',
  );
  console.log(`the network: ${refused.error?.name}`);
} finally {
  await sandbox.kill();
}
