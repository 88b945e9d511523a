/** Environment variables of one call to an interpreter: set before its code and put back after it. */
import type { ContextLanguage } from '../../seams/run.ts';

type Variables = Readonly<Record<string, string>>;

interface Changes {
  readonly set: string;
  readonly restore: string;
}

/** Code that leaves no name behind in the interpreter. */
const changesOf: Readonly<Record<ContextLanguage, (variables: Variables) => Changes>> = {
  python(variables) {
    const given = `__import__('json').loads(${JSON.stringify(JSON.stringify(variables))})`;
    const within = (body: string) => `exec(${JSON.stringify(body)}, {'given': ${given}})`;
    return {
      set: within(
        'import os, sys\nsys.__dict__["_geode_variables"] = {name: os.environ.get(name) for name in given}\nos.environ.update(given)',
      ),
      restore: within(
        'import os, sys\nfor name, value in sys.__dict__.pop("_geode_variables", {}).items():\n  os.environ.pop(name, None)\n  if value is not None: os.environ[name] = value',
      ),
    };
  },
  javascript(variables) {
    const kept = `globalThis[Symbol.for('geode variables')]`;
    const given = JSON.stringify(variables);
    return {
      set: `void (({ env }) => { const given = ${given}; ${kept} = Object.keys(given).map((name) => [name, env[name]]); Object.assign(env, given); })(process)`,
      restore: `void (({ env }) => { for (const [name, value] of ${kept} ?? []) { delete env[name]; if (value !== undefined) env[name] = value; } delete ${kept}; })(process)`,
    };
  },
};

/** Runs `work` while the interpreter has the variables. */
export async function withVariables<T>(
  language: ContextLanguage,
  variables: Variables,
  run: (code: string) => Promise<unknown>,
  work: () => Promise<T>,
): Promise<T> {
  if (Object.keys(variables).length === 0) return await work();
  const { set, restore } = changesOf[language](variables);
  await run(set);
  try {
    return await work();
  } finally {
    await run(restore);
  }
}
