import { catalog } from './catalog.ts'

/** Sign-in security: passkeys, authenticator apps, recovery codes, and the confirmation before sensitive changes. */
import { formatCount } from './format.ts'

export const texts = catalog('security', {
  security: 'Security',
  loading: 'Loading the second factors',
  required: 'Your workspace requires a second factor. Set one up to continue, or confirm with the one you have.',

  /** The factors with which a session was confirmed. */
  factors: {
    PASSWORD: 'Password',
    TOTP: 'Authenticator app',
    RECOVERY_CODE: 'Recovery code',
    PASSKEY: 'Passkey',
    ISSUER: 'Single sign-on',
  },

  // Signing in
  signInWithPasskey: 'Sign in with a passkey',
  secondStepTitle: 'Second factor',
  code: 'Code',
  codeHelp: 'The six digits that your authenticator app shows.',
  recoveryCode: 'Recovery code',
  recoveryCodeHelp: 'One of the codes that you have stored. Each works once.',
  usePasskey: 'Use a passkey',
  useCode: 'Use the authenticator app',
  useRecoveryCode: 'Use a recovery code',
  continue: 'Continue',
  startOver: 'Back to the password',

  // Passkeys
  passkeys: 'Passkeys',
  passkeysHelp: 'Sign in with your fingerprint, your face or the PIN of your device instead of the password.',
  noPasskeys: 'You have no passkeys.',
  unsupported: 'Passkeys need an encrypted connection (HTTPS) and a recent browser.',
  addPasskey: 'Add a passkey',
  addPasskeyHelp: 'Your browser asks where to store the passkey.',
  add: 'Add',
  added: 'Added',
  lastUsed: 'Last used',
  synced: 'On several devices',
  renamePasskey: 'Rename passkey',
  rename: 'Rename',
  removePasskey: (name: string) => `Remove the passkey ${name}?`,
  removePasskeyHelp: 'You can no longer sign in with it. Also delete it where it is stored.',
  passkeyCanceled: 'The passkey was not used. Try again.',
  passkeyKnown: 'This device already has a passkey of your account.',

  // Authenticator app
  app: 'Authenticator app',
  appHelp: 'After your password, enter a code that an app on your phone shows.',
  appAdded: 'An authenticator app is set up.',
  setUpApp: 'Set up an app',
  replaceApp: 'Set up another app',
  removeApp: 'Remove the app',
  removeAppTitle: 'Remove the authenticator app?',
  removeAppHelp: 'Its codes are no longer accepted.',
  scan: 'Scan this code with the app, or enter the key by hand.',
  qrCode: 'QR code for the authenticator app',
  key: 'Key',
  enterCode: 'Then enter the code that the app shows.',

  // Recovery codes
  recoveryCodes: 'Recovery codes',
  recoveryCodesHelp: 'Each code works once, if you have lost the other factors.',
  codesLeft: (count: number) =>
    count === 0 ? 'You have no codes left.' : `You have ${formatCount(count, 'code')} left.`,
  newCodes: 'Create new codes',
  newCodesTitle: 'Create new recovery codes?',
  newCodesHelp: 'The earlier codes stop working.',
  create: 'Create',
  yourCodes: 'Your recovery codes',
  yourCodesHelp: 'Store them where you find them without your devices. They are shown only once.',
  download: 'Download',
  stored: 'I have stored them',
  fileName: 'stowage-recovery-codes.txt',

  // Confirmation
  confirmTitle: 'Confirm that it is you',
  confirmHelp: 'This change needs a recent confirmation. You are not asked again for ten minutes.',
  confirm: 'Confirm',
  signInAgain: 'Sign in again',
  signInAgainHelp: 'Your account has no password here: sign in again, and repeat the change.',
  confirmNow: 'Confirm with a second factor',

  // Administration
  removeFactors: 'Reset second factors',
  reset: 'Reset',
  removeFactorsTitle: (name: string) => `Reset the second factors of ${name}?`,
  removeFactorsHelp: (email: string) =>
    `Passkeys, the authenticator app and recovery codes of ${email} are removed, and all sessions end. Make sure that it is really them who has asked.`,
  factorsRemoved: 'The second factors are removed.',
  requiredOf: 'Second factor required of',
  requiredOfHelp: 'Members with these roles can do nothing before they have set one up. API keys are not affected.',
})
