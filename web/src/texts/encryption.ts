import { catalog } from './catalog.ts'

/** Storages that encrypt what they hold. */
export const texts = catalog('encryption', {
  encrypt: 'Encrypt the storage',
  encryptHelp:
    'Stowage encrypts everything before it gets there, so the people who run the back end can read neither contents nor names. The format is that of rclone crypt. It cannot change later.',
  source: 'Where does the password come from?',
  sources: { MADE: 'Make one for me', OWN: 'My own', EXISTING: 'An existing rclone crypt remote' },
  sourceHelp: {
    MADE: 'A random one that nobody can guess. You see it once, before the storage is connected.',
    OWN: 'Anyone who has the files can try passwords for as long as they like: use a long, random one.',
    EXISTING:
      'Files that rclone has encrypted there open as they are. Choose the same settings as in rclone, and the folder that its remote leads to.',
  },
  password: 'Encryption password',
  existingPassword:
    'The password itself, not the obscured one in the configuration of rclone. “rclone reveal” turns that one back.',
  salt: 'Salt',
  saltHelp: 'A second password. rclone calls it “password2”.',
  settings: 'Encryption settings',
  names: 'Names',
  nameModes: { STANDARD: 'Encrypted', OFF: 'Readable' },
  namesHelp: {
    STANDARD: 'Encrypted names are longer. A name can have up to 143 bytes with Base32.',
    OFF: 'Only contents are encrypted. Everyone who can see the back end can read the names.',
  },
  encoding: 'Encoding of names',
  encodings: { BASE32: 'Base32', BASE64: 'Base64', BASE32768: 'Base32768' },
  encodingHelp: {
    BASE32: 'Works with every back end.',
    BASE64: 'Has shorter names. The back end must tell capitals from small letters.',
    BASE32768: 'Has the shortest names where the back end counts characters, as OneDrive and Dropbox do.',
  },
  folderNames: 'Encrypt the names of folders, too',
  suffix: 'Suffix of files',
  suffixHelp: 'What stored names end with, or “none”.',
  wrongSuffix: 'Begin with a dot, or write “none”.',

  // The recovery sheet
  sheetTitle: 'Keep the recovery sheet',
  sheetHelp:
    'Anyone who has this sheet can read the files. Without it, nobody can once this server is lost. Stowage never shows it again: print it, save it or copy it to a safe place now.',
  sheetName: 'Recovery sheet',
  storage: 'Storage',
  written: 'Written on',
  noSalt: 'none',
  folderModes: { encrypted: 'encrypted', readable: 'readable' },
  folders: 'Names of folders',
  withoutStowage: 'Without Stowage',
  withoutStowageHelp:
    'Install rclone, add the storage to it as a remote, and put that remote with the folder in place of “remote:folder”:',
  print: 'Print',
  download: 'Download',
  copy: 'Copy',
  next: 'I have kept it',
  checkTitle: 'Do you have the sheet?',
  lastCharacters: (count: number) => `The last ${count} characters of the password`,
  checkHelp: 'Read them from the sheet that you have kept.',
  notOnSheet: 'The password on the sheet ends with other characters.',
  showAgain: 'Show the sheet again',
  fileName: (storage: string) => `Recovery sheet of ${storage}.txt`,
  /** The text of the file. */
  sheet: (storage: string, date: string, facts: string, commands: string) => `Recovery sheet of an encrypted storage

Anyone who has this sheet can read the files. Without it, nobody can once the server is lost.

Storage: ${storage}
Written on: ${date}

${facts}

To read the files without Stowage, install rclone (https://rclone.org), add the storage
to it as a remote, and put that remote with the folder in place of "remote:folder":

${commands}
`,

  // Storages that are connected
  encrypted: 'Encrypted',
  encryptedAs: { STANDARD: 'Contents and names are encrypted.', OFF: 'Contents are encrypted. Names are readable.' },
})

export interface SheetContent {
  storage: string
  date: string
  facts: readonly (readonly [what: string, value: string])[]
  commands: readonly string[]
}
