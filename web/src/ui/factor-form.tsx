/** Asks for a second factor: a code, a recovery code or a passkey. */
import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Form } from 'react-aria-components'
import { askForPasskey, hasPasskeys } from '../api/passkeys.ts'
import type { GivenFactor } from '../api/session.ts'
import { texts } from '../texts/security.tsx'
import { Button } from './button.tsx'
import { ErrorBox } from './error-box.tsx'
import { submitting, TextField } from './field.tsx'

type Method = 'TOTP' | 'RECOVERY_CODE' | 'PASSKEY'

const switchTexts = {
  TOTP: texts.useCode,
  RECOVERY_CODE: texts.useRecoveryCode,
  PASSKEY: texts.usePasskey,
} as const satisfies Record<Method, string>

export function FactorForm({
  methods,
  passkeyOptions,
  action,
  onGiven,
  children,
}: {
  /** Those of the account. */
  methods: readonly string[]
  passkeyOptions: unknown
  /** The label of the button that sends a code. */
  action: string
  onGiven: (factor: GivenFactor) => Promise<unknown>
  /** More buttons. */
  children?: ReactNode
}) {
  const usable = (Object.keys(switchTexts) as Method[]).filter(
    method => methods.includes(method) && (method !== 'PASSKEY' || hasPasskeys),
  )
  const [method, setMethod] = useState<Method>(usable[0] ?? 'RECOVERY_CODE')
  const [typed, setTyped] = useState('')
  const give = useMutation({
    mutationFn: async () => {
      if (method === 'PASSKEY') await onGiven({ passkey: await askForPasskey(passkeyOptions) })
      else await onGiven(method === 'TOTP' ? { code: typed } : { recoveryCode: typed })
    },
  })
  const others = usable.filter(each => each !== method)
  return (
    <Form onSubmit={submitting(() => give.mutate())}>
      {method !== 'PASSKEY' && (
        <TextField
          key={method}
          label={method === 'TOTP' ? texts.code : texts.recoveryCode}
          description={method === 'TOTP' ? texts.codeHelp : texts.recoveryCodeHelp}
          value={typed}
          onChange={setTyped}
          autoComplete={method === 'TOTP' ? 'one-time-code' : 'off'}
          inputMode={method === 'TOTP' ? 'numeric' : 'text'}
          spellCheck="false"
          maxLength={40}
          isRequired
          autoFocus
        />
      )}
      {give.error && <ErrorBox error={give.error} />}
      <div className="factor-actions">
        <Button type="submit" variant="primary" isPending={give.isPending}>
          {method === 'PASSKEY' ? texts.usePasskey : action}
        </Button>
        {others.map(each => (
          <Button
            key={each}
            onPress={() => {
              setMethod(each)
              setTyped('')
              give.reset()
            }}
          >
            {switchTexts[each]}
          </Button>
        ))}
        {children}
      </div>
    </Form>
  )
}
