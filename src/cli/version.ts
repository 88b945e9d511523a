import { fileURLToPath } from 'node:url';
import packageJson from '../../package.json' with { type: 'json' };

export const { version } = packageJson;

/** Two of the same version may still be two. */
export const program = `${version} in ${fileURLToPath(new URL('../..', import.meta.url))}`;
