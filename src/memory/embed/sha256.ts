/** Off the main thread: a model has a hundred megabytes, and hashing them there would stop everything else. */
export async function sha256(bytes: Uint8Array): Promise<string> {
  return Buffer.from(await crypto.subtle.digest('SHA-256', bytes)).toString('hex');
}
