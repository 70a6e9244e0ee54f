import type { EncryptionSettings, NameEncoding, NameEncryption } from '../../../db/schema.ts'
import { maxSecretLength, usualSuffix } from '../../../services/providers/encryption.ts'
import { builder } from '../builder.ts'

/** The encryption of providers. */

const nameEncryptions: Record<NameEncryption, { description: string }> = {
  STANDARD: { description: 'Names of files are encrypted.' },
  OFF: { description: 'Names stay readable; those of files end with the suffix.' },
}

const NameEncryptionEnum = builder.enumType('NameEncryption', {
  description: 'Whether the names of an encrypted provider are encrypted.',
  values: nameEncryptions,
})

const encodings: Record<NameEncoding, { description: string }> = {
  BASE32: { description: 'Lowercase letters and digits, for every back end. Names can have up to 143 bytes.' },
  BASE64: { description: 'For back ends that distinguish cases of letters. Names can have up to 175 bytes.' },
  BASE32768: {
    description:
      'For back ends that count characters in UTF-16 instead of bytes, such as OneDrive and Dropbox. Names can be longest.',
  },
}

const NameEncodingEnum = builder.enumType('NameEncoding', {
  description: 'How encrypted names are written.',
  values: encodings,
})

export const EncryptionInputType = builder.inputType('EncryptionInput', {
  description:
    'The encryption of a provider, in the format of `rclone crypt`. Keep the password, the salt and the settings somewhere else, too: they are never shown again, and without them nobody can read the files.',
  fields: t => ({
    password: t.string({ required: true, description: `The password, with 1 to ${maxSecretLength} characters.` }),
    salt: t.string({
      description: `A second password, with up to ${maxSecretLength} characters, which rclone calls \`password2\`. Without it, everybody who has guessed the password of one storage can try it on all others at no cost.`,
    }),
    names: t.field({ type: NameEncryptionEnum, defaultValue: 'STANDARD', description: 'Whether names are encrypted.' }),
    encoding: t.field({
      type: NameEncodingEnum,
      defaultValue: 'BASE32',
      description: 'How encrypted names are written.',
    }),
    encryptFolderNames: t.boolean({
      defaultValue: true,
      description: 'Whether names of folders are encrypted, too, if names are.',
    }),
    suffix: t.string({
      defaultValue: usualSuffix,
      description: 'What the names of files end with if names are not encrypted, or `none`.',
    }),
  }),
})

export const ProviderEncryption = builder.objectRef<EncryptionSettings>('ProviderEncryption').implement({
  description: 'How a provider is encrypted. The password and the salt are not shown.',
  fields: t => ({
    names: t.expose('names', { type: NameEncryptionEnum, description: 'Whether names are encrypted.' }),
    encoding: t.expose('encoding', { type: NameEncodingEnum, description: 'How encrypted names are written.' }),
    encryptFolderNames: t.exposeBoolean('encryptFolderNames', {
      description: 'Whether names of folders are encrypted, too, if names are.',
    }),
    suffix: t.exposeString('suffix', {
      description: 'What the names of files end with if names are not encrypted. Empty for `none`.',
    }),
  }),
})
