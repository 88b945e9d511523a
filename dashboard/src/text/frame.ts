/** Words of the frame around every page. */

export const nav = {
  label: 'Pages',
  sidebar: 'Places',
  home: 'Home',
  inbox: 'Inbox',
  chat: 'Chat',
  sandboxes: 'Sandboxes',
  code: 'Code',
  knowledge: 'Knowledge',
  settings: 'Settings',
  more: 'More',
  search: 'Search',
  palette: 'Search (Ctrl-K)',
  waiting: 'wait for you',
  theme: 'Theme',
  themes: { system: 'as the system', light: 'light', dark: 'dark' },
  logOut: 'Log out',
  back: 'Back',
  content: 'Content',
  width: 'Show or hide the list',
} as const;

export const live = { connecting: 'Connecting…', live: 'Connected', reconnecting: 'Reconnecting…' } as const;

export const lost = {
  message: (seconds: number) => `No answer from Geode. Trying again in ${seconds} s`,
  now: 'Try now',
} as const;

export const login = {
  title: 'Log in',
  how: 'Run this on the machine where Geode runs, and open the link that it prints. A link works once, for 15 minutes.',
  commands: [
    { when: '', line: 'geode dashboard' },
    { when: 'If there is no command geode:', line: 'npx geode-home dashboard' },
    { when: 'In a clone of the source:', line: 'bin/geode.js dashboard' },
  ],
  code: 'Link or code',
  submit: 'Log in',
} as const;

export const keys = {
  title: 'Keys',
  single: 'Single letters work as keys',
  groups: [
    {
      name: 'Everywhere',
      keys: [
        ['Ctrl-K', 'search and commands'],
        ['?', 'this list'],
        ['g, then h i c s o k', 'Home, Inbox, Chat, Sandboxes, Code, Knowledge'],
        ['c', 'new chat'],
        ['j, k, Enter', 'next, previous, open, in a list'],
        ['F6', 'next region of the page'],
        ['F8', 'oldest question that waits'],
        ['Ctrl-B', 'show or hide the sidebar'],
        ['Ctrl-J', 'show or hide files and terminal beside a chat'],
        ['Escape', 'close'],
      ],
    },
    {
      name: 'Chat',
      keys: [
        ['Enter', 'send, or queue while the agent works'],
        ['Shift-Enter', 'new line'],
        ['Ctrl-Enter', 'say it now, while the agent works'],
        ['↑', 'edit the last message, in an empty field'],
        ['Escape', 'stop the agent, in an empty field'],
        ['a, s, d', 'allow once, allow for the sandbox, deny, on a focused question'],
      ],
    },
    {
      name: 'Code and files',
      keys: [
        ['Ctrl-Enter', 'run'],
        ['Shift-Enter', 'run and go on'],
        ['Ctrl-S', 'save'],
        ['Ctrl-F6', 'leave the terminal'],
      ],
    },
  ],
} as const;

export const palette = {
  title: 'Search',
  input: 'Search pages, sandboxes, chats, files and memory',
  nothing: 'Nothing has this name.',
  pages: 'Pages',
  sandboxes: 'Sandboxes',
  chats: 'Chats',
  files: 'Files',
  memory: 'Memory',
  commands: 'Commands',
  newSandbox: (name: string) => `New sandbox “${name}”`,
  newChat: (name: string) => `New chat “${name}”`,
  allow: (host: string, sandbox: string) => `Allow host “${host}” in ${sandbox}`,
  keys: 'Show all keys',
} as const;

export const actions = {
  cancel: 'Cancel',
  copy: 'Copy',
  copied: 'Copied',
  again: 'Try again',
  close: 'Close',
  refresh: 'Refresh',
  create: 'Create',
  save: 'Save',
  remove: 'Remove',
  open: 'Open',
  done: 'Done',
  sure: 'This cannot be undone.',
} as const;

export const problem = {
  missing: 'There is no such page.',
  back: 'Go home',
  broken: 'This page cannot be shown',
  brokenHow: 'Geode may have been updated since it was loaded. Your unsent words are kept.',
  reload: 'Load it again',
} as const;
