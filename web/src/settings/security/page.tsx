/** The second factors of the person: passkeys, the authenticator app, and recovery codes. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ask, confirmNow } from '../../api/client.ts'
import { hasPasskeys } from '../../api/passkeys.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { useSession } from '../../api/session.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/security.tsx'
import { Button } from '../../ui/button.tsx'
import { Confirm, NameDialog } from '../../ui/dialog.tsx'
import { LoadState } from '../../ui/loading.tsx'
import { PageTitle } from '../../ui/page.tsx'
import { RowTable } from '../../ui/row-table.tsx'
import { Time } from '../../ui/time.tsx'
import { AddPasskeyDialog, RecoveryCodesDialog, SetUpAppDialog } from './dialogs.tsx'
import {
  CreateRecoveryCodesMutation,
  type Passkey,
  RemovePasskeyMutation,
  RemoveTotpMutation,
  RenamePasskeyMutation,
  SecondFactorsQuery,
} from './operations.ts'

type SecurityDialog =
  | { kind: 'add passkey' | 'set up app' | 'remove app' | 'new codes' }
  | { kind: 'rename' | 'remove'; passkey: Passkey }
  | { kind: 'codes'; codes: readonly string[] }

export function SecurityPage() {
  const { needsSecondFactor } = useSession().viewer
  const client = useQueryClient()
  const query = useQuery({
    queryKey: queryKeys.secondFactors,
    queryFn: ({ signal }) => ask(SecondFactorsQuery, {}, { signal }),
  })
  const [open, setOpen] = useState<SecurityDialog | null>(null)
  const close = () => setOpen(null)
  const reload = async () => {
    await client.invalidateQueries({ queryKey: queryKeys.secondFactors })
    await client.invalidateQueries({ queryKey: queryKeys.session })
  }
  const onAdded = async (codes: readonly string[]) => {
    setOpen(codes.length > 0 ? { kind: 'codes', codes } : null)
    await reload()
  }
  const factors = query.data?.secondFactors
  const hasFactors = factors && (factors.totpAddedAt !== null || factors.passkeys.length > 0)
  return (
    <>
      <PageTitle>{texts.security}</PageTitle>
      <h1>{texts.security}</h1>
      {needsSecondFactor && <Required hasFactors={hasFactors ?? false} />}
      <LoadState query={query} label={texts.loading} />
      {factors && (
        <>
          <h2>{texts.passkeys}</h2>
          <p className="help">{texts.passkeysHelp}</p>
          {factors.passkeys.length > 0 && (
            <RowTable label={texts.passkeys} columns={[common.name, texts.added, texts.lastUsed]}>
              {factors.passkeys.map(passkey => (
                <PasskeyRow
                  key={passkey.id}
                  passkey={passkey}
                  onRename={() => setOpen({ kind: 'rename', passkey })}
                  onRemove={() => setOpen({ kind: 'remove', passkey })}
                />
              ))}
            </RowTable>
          )}
          {hasPasskeys ? (
            <Button onPress={() => setOpen({ kind: 'add passkey' })}>{texts.addPasskey}</Button>
          ) : (
            <p className="notice">{texts.unsupported}</p>
          )}
          <h2>{texts.app}</h2>
          <p className="help">{factors.totpAddedAt === null ? texts.appHelp : texts.appAdded}</p>
          <div className="actions">
            <Button onPress={() => setOpen({ kind: 'set up app' })}>
              {factors.totpAddedAt === null ? texts.setUpApp : texts.replaceApp}
            </Button>
            {factors.totpAddedAt !== null && (
              <Button variant="danger" onPress={() => setOpen({ kind: 'remove app' })}>
                {texts.removeApp}
              </Button>
            )}
          </div>
          {hasFactors && (
            <>
              <h2>{texts.recoveryCodes}</h2>
              <p className="help">
                {texts.recoveryCodesHelp} {texts.codesLeft(factors.recoveryCodesLeft)}
              </p>
              <Button onPress={() => setOpen({ kind: 'new codes' })}>{texts.newCodes}</Button>
            </>
          )}
        </>
      )}
      {open?.kind === 'add passkey' && <AddPasskeyDialog onAdded={onAdded} onClose={close} />}
      {open?.kind === 'set up app' && <SetUpAppDialog onAdded={onAdded} onClose={close} />}
      {open?.kind === 'codes' && <RecoveryCodesDialog codes={open.codes} onClose={close} />}
      {open?.kind === 'rename' && (
        <NameDialog
          title={texts.renamePasskey}
          action={texts.rename}
          initial={open.passkey.name}
          maxLength={200}
          onSubmit={async name => {
            await ask(RenamePasskeyMutation, { id: open.passkey.id, name })
            await reload()
          }}
          onClose={close}
        />
      )}
      {open?.kind === 'remove' && (
        <Confirm
          title={texts.removePasskey(open.passkey.name)}
          action={common.remove}
          onConfirm={async () => {
            await ask(RemovePasskeyMutation, { id: open.passkey.id })
            await reload()
          }}
          onClose={close}
        >
          <p>{texts.removePasskeyHelp}</p>
        </Confirm>
      )}
      {open?.kind === 'remove app' && (
        <Confirm
          title={texts.removeAppTitle}
          action={common.remove}
          onConfirm={async () => {
            await ask(RemoveTotpMutation, {})
            await reload()
          }}
          onClose={close}
        >
          <p>{texts.removeAppHelp}</p>
        </Confirm>
      )}
      {open?.kind === 'new codes' && (
        <Confirm
          title={texts.newCodesTitle}
          action={texts.create}
          onConfirm={async () => onAdded((await ask(CreateRecoveryCodesMutation, {})).createRecoveryCodes)}
          // The dialog also closes after the confirmation, when the codes are shown.
          onClose={() => setOpen(shown => (shown?.kind === 'new codes' ? null : shown))}
        >
          <p>{texts.newCodesHelp}</p>
        </Confirm>
      )}
    </>
  )
}

/** Says why the person sees no other page. */
function Required({ hasFactors }: { hasFactors: boolean }) {
  return (
    <div className="notice">
      <p>{texts.required}</p>
      {hasFactors && <Button onPress={() => void confirmNow()}>{texts.confirmNow}</Button>}
    </div>
  )
}

function PasskeyRow({ passkey, onRename, onRemove }: { passkey: Passkey; onRename: () => void; onRemove: () => void }) {
  const { id, name, isSynced, createdAt, lastUsedAt } = passkey
  const nameId = `passkey-${id}`
  return (
    <tr>
      <td id={nameId} className="person-cell">
        <div className="main-cell">{name}</div>
        {isSynced && <div className="help">{texts.synced}</div>}
      </td>
      <td data-label={texts.added}>
        <Time at={createdAt} />
      </td>
      <td data-label={texts.lastUsed}>{lastUsedAt === null ? common.never : <Time at={lastUsedAt} as="distance" />}</td>
      <td className="actions-cell">
        <div className="actions">
          <Button onPress={onRename} aria-describedby={nameId}>
            {texts.rename}
          </Button>
          <Button variant="danger" onPress={onRemove} aria-describedby={nameId}>
            {common.remove}
          </Button>
        </div>
      </td>
    </tr>
  )
}
