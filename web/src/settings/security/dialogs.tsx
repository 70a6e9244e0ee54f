/** Dialogs that add second factors, and show recovery codes. */
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { ask } from '../../api/client.ts'
import { createPasskey } from '../../api/passkeys.ts'
import { loadPart } from '../../lib/load-part.ts'
import { texts } from '../../texts/security.tsx'
import { Button } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { Dialog, DialogEnd, FormDialog } from '../../ui/dialog.tsx'
import { NameField, TextField } from '../../ui/field.tsx'
import { LoadState } from '../../ui/loading.tsx'
import { AddPasskeyMutation, AddTotpMutation, PasskeySetupQuery, TotpSetupQuery } from './operations.ts'

interface AddProps {
  onAdded: (recoveryCodes: readonly string[]) => Promise<void>
  onClose: () => void
}

export function AddPasskeyDialog({ onAdded, onClose }: AddProps) {
  const [name, setName] = useState('')
  const add = useMutation({
    mutationFn: async () => {
      const { passkeySetup } = await ask(PasskeySetupQuery, {})
      const passkey = await createPasskey(passkeySetup)
      const { addPasskey } = await ask(AddPasskeyMutation, { input: { name, passkey } })
      await onAdded(addPasskey.recoveryCodes)
    },
  })
  return (
    <FormDialog title={texts.addPasskey} action={texts.add} submit={add} isValid={name.trim() !== ''} onClose={onClose}>
      <p className="help">{texts.addPasskeyHelp}</p>
      <NameField value={name} onChange={setName} autoFocus />
    </FormDialog>
  )
}

export function SetUpAppDialog({ onAdded, onClose }: AddProps) {
  const [code, setCode] = useState('')
  const query = useQuery({
    queryKey: ['totp-setup'],
    queryFn: async ({ signal }) => {
      const { totpSetup } = await ask(TotpSetupQuery, {}, { signal })
      const { renderSVG } = await loadPart(import('uqr'))
      return {
        ...totpSetup,
        image: `data:image/svg+xml,${encodeURIComponent(renderSVG(totpSetup.uri, { border: 2 }))}`,
      }
    },
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
  const add = useMutation({
    mutationFn: async () => {
      const ticket = query.data?.ticket ?? ''
      const { addTotp } = await ask(AddTotpMutation, { input: { ticket, code } })
      await onAdded(addTotp.recoveryCodes)
    },
  })
  return (
    <FormDialog
      title={texts.setUpApp}
      action={texts.add}
      submit={add}
      isValid={query.data !== undefined && code.trim() !== ''}
      onClose={onClose}
    >
      <LoadState query={query} label={texts.loading} />
      {query.data && (
        <>
          <p className="help">{texts.scan}</p>
          <img className="qr-code" src={query.data.image} alt={texts.qrCode} width={200} height={200} />
          <dl className="facts">
            <dt>{texts.key}</dt>
            <dd>
              <code className="secret" data-testid="totp-secret">
                {query.data.secret}
              </code>
            </dd>
          </dl>
          <TextField
            label={texts.code}
            description={texts.enterCode}
            value={code}
            onChange={setCode}
            autoComplete="one-time-code"
            inputMode="numeric"
            maxLength={10}
            isRequired
            autoFocus
          />
        </>
      )}
    </FormDialog>
  )
}

/** Shows new recovery codes once. */
export function RecoveryCodesDialog({ codes, onClose }: { codes: readonly string[]; onClose: () => void }) {
  const text = `${codes.join('\n')}\n`
  return (
    // Only the button closes the dialog, because the codes are not shown again.
    <Dialog title={texts.yourCodes} onClose={onClose} isBusy>
      <p>{texts.yourCodesHelp}</p>
      <ol className="recovery-codes" data-testid="recovery-codes">
        {codes.map(code => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ol>
      <div className="actions">
        <CopyButton text={text} />
        <Button onPress={() => save(text)}>{texts.download}</Button>
      </div>
      <DialogEnd label={texts.stored} onClose={onClose} />
    </Dialog>
  )
}

function save(text: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/plain' }))
  link.download = texts.fileName
  link.click()
  URL.revokeObjectURL(link.href)
}
