import packageJson from '../../../../package.json' with { type: 'json' };

/** A host and the program in its sandboxes are of the same version, or do not talk. */
export const agentVersion: string = packageJson.version;
