/** The encryption of a storage that is about to be connected, and what its recovery sheet says. */
import { type SheetContent, texts } from '../texts/encryption.ts'

export interface EncryptionValues {
  isOn: boolean
  source: 'MADE' | 'OWN' | 'EXISTING'
  /** The password that was made for this form. */
  made: string
  /** The password that somebody entered. */
  password: string
  salt: string
  names: 'STANDARD' | 'OFF'
  encoding: 'BASE32' | 'BASE64' | 'BASE32768'
  encryptFolderNames: boolean
  suffix: string
}

/** As the server takes it. */
export interface EncryptionChoice {
  password: string
  salt: string
  names: EncryptionValues['names']
  encoding: EncryptionValues['encoding']
  encryptFolderNames: boolean
  suffix: string
}

/** Letters and digits without those that look alike. */
const characters = '0123456789abcdefghjkmnpqrstvwxyz'
const groups = 6
const groupLength = 5

/** Returns a password of 150 random bits, in groups that are easy to write down. */
function makePassword(): string {
  const random = crypto.getRandomValues(new Uint8Array(groups * groupLength))
  const letters = Array.from(random, byte => characters.charAt(byte % characters.length))
  return Array.from({ length: groups }, (_, n) => letters.slice(n * groupLength, (n + 1) * groupLength).join('')).join(
    '-',
  )
}

export const noEncryption = (): EncryptionValues => ({
  isOn: false,
  source: 'MADE',
  made: makePassword(),
  password: '',
  salt: '',
  names: 'STANDARD',
  encoding: 'BASE32',
  encryptFolderNames: true,
  suffix: '.bin',
})

/** Returns null if nothing is to be encrypted. */
export function chosenEncryption(values: EncryptionValues): EncryptionChoice | null {
  const { isOn, source, made, password, salt, names, encoding, encryptFolderNames, suffix } = values
  if (!isOn) return null
  const secrets = source === 'MADE' ? { password: made, salt: '' } : { password, salt }
  return { ...secrets, names, encoding, encryptFolderNames, suffix }
}

/** Returns the last characters of the password, which show that somebody has the sheet. */
export function endOf({ password }: EncryptionChoice): string {
  return [...password].slice(-groupLength).join('')
}

/** @param storage the name of the storage and its type */
export function sheetContent(choice: EncryptionChoice, storage: string): SheetContent {
  const { password, salt, names, encoding, encryptFolderNames, suffix } = choice
  const facts: [string, string][] = [
    [texts.password, password],
    [texts.salt, salt === '' ? texts.noSalt : salt],
    [texts.names, texts.nameModes[names].toLowerCase()],
    ...(names === 'OFF'
      ? [[texts.suffix, suffix] as [string, string]]
      : [
          [texts.encoding, texts.encodings[encoding]] as [string, string],
          [texts.folders, texts.folderModes[encryptFolderNames ? 'encrypted' : 'readable']] as [string, string],
        ]),
  ]
  const options = {
    remote: 'remote:folder',
    password,
    ...(salt !== '' && { password2: salt }),
    filename_encryption: names.toLowerCase(),
    ...(names === 'OFF' ? { suffix } : { filename_encoding: encoding.toLowerCase() }),
    directory_name_encryption: String(encryptFolderNames),
  }
  const given = Object.entries(options).map(([name, value]) => `${name}=${quoted(value)}`)
  const commands = [
    `rclone config create recovered crypt ${given.join(' ')} --obscure`,
    'rclone copy recovered: recovered-files',
  ]
  return { storage, date: new Date().toISOString().slice(0, 10), facts, commands }
}

/** Quotes a value for the shells of POSIX. */
function quoted(value: string): string {
  return /^[\w.:/-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`
}
