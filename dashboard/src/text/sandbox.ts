/** Words of the acts on one sandbox, and of its timeline. */
export const acts = {
  snapshot: 'Snapshot',
  fork: 'Fork',
  forkTitle: 'Fork this sandbox',
  forkFiles: 'The copy has the files of now. Both go on separately.',
  forkLive: 'Copy the processes and their memory too',
  forkFrom: (checkpoint: string) => `The copy continues from “${checkpoint}”, with its processes and memory.`,
  checkpoint: 'Save a checkpoint',
  checkpointHow:
    'Saves files, processes and memory as they are now, to fork from later. The sandbox goes on.',
  checkpointName: 'Name (may be empty)',
  hibernate: 'Hibernate',
  hibernateHow: 'Saves the memory on disk and frees it. The next use continues every process.',
  more: 'More',
  checkpointKind: 'Checkpoint',
  memory: (memory: string, files: string) => `${memory} of memory, ${files} of files`,
  continueFrom: 'Fork from here',
  removeCheckpoint: 'Remove this checkpoint?',
  beforeTurn: (number: string) => `Undo point ${number}`,
  forkedTo: (name: string) => `Live fork to ${name}`,
  files: 'Files, memory and processes',
};
