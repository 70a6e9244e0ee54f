import { useMutation, useQuery } from '@tanstack/react-query'
import { type ReactNode, useMemo, useState } from 'react'
import { useParams } from 'react-router'
import { StowageError } from '../../api/client.ts'
import { type SharedFacts, type ShareLink, shareLinkOf } from '../../api/share-link.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/shares.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Loading } from '../../ui/loading.tsx'
import { Logo } from '../../ui/logo.tsx'
import { PageTitle } from '../../ui/page-title.tsx'
import { DropPage } from './drop-page.tsx'
import { SharedFolder } from './shared-folder.tsx'
import '../../ui/parts.css'
import './shared.css'
import { Form } from 'react-aria-components'
import { Button } from '../../ui/button.tsx'
import { TextField } from '../../ui/field.tsx'

/** The page of a share link, for people without an account. */
export function SharedPage() {
  const { token = '' } = useParams()
  const link = useMemo(() => shareLinkOf(token), [token])
  const { data, error, refetch } = useQuery({
    queryKey: ['share', token],
    queryFn: ({ signal }) => link.describe({ signal }),
  })
  if (data) return <Frame facts={data}>{contentOf(token, link, data)}</Frame>
  if (!error) return <Loading label={common.loading} />
  const reason = error instanceof StowageError ? error.reason : null
  if (reason === 'SHARE_PASSWORD_REQUIRED') return <UnlockForm token={token} onUnlocked={() => void refetch()} />
  if (reason === 'SHARE_ENDED') return <Notice title={texts.ended} help={texts.endedHelp} />
  if (reason === 'INVALID_CREDENTIAL') return <Notice title={texts.unknown} help={texts.unknownHelp} />
  return (
    <main className="welcome">
      <ErrorBox error={error} retry={refetch} />
    </main>
  )
}

function contentOf(token: string, link: ShareLink, facts: SharedFacts): ReactNode {
  if (facts.kind === 'DROP') return <DropPage token={token} link={link} facts={facts} />
  return <SharedFolder token={token} link={link} facts={facts} />
}

function Frame({ facts, children }: { facts: SharedFacts; children: ReactNode }) {
  const { name, sharedBy, note, expiresAt } = facts
  return (
    <div className="shared-page">
      <PageTitle>{texts.pageOf(name)}</PageTitle>
      <header className="shared-head">
        <div className="welcome-brand">
          <Logo />
          <span>{common.product}</span>
        </div>
        {sharedBy !== null && <p>{texts.sharedBy(sharedBy)}</p>}
        {note !== '' && <p className="shared-note">{note}</p>}
        {expiresAt !== null && <p className="help">{texts.expiresAt(expiresAt)}</p>}
      </header>
      {children}
    </div>
  )
}

function Notice({ title, help }: { title: string; help: string }) {
  return (
    <main className="welcome">
      <div className="welcome-card">
        <PageTitle>{title}</PageTitle>
        <h1>{title}</h1>
        <p>{help}</p>
      </div>
    </main>
  )
}

/** Asks for the password of a share link. */
function UnlockForm({ token, onUnlocked }: { token: string; onUnlocked: () => void }) {
  const [password, setPassword] = useState('')
  const unlock = useMutation({ mutationFn: () => shareLinkOf(token, password).unlock(), onSuccess: onUnlocked })
  return (
    <main className="welcome">
      <div className="welcome-card">
        <PageTitle>{texts.locked}</PageTitle>
        <h1>{texts.locked}</h1>
        <Form
          onSubmit={event => {
            event.preventDefault()
            unlock.mutate()
          }}
        >
          <TextField
            label={texts.passwordLabel}
            type="password"
            autoComplete="off"
            value={password}
            onChange={setPassword}
            isRequired
            autoFocus
          />
          {unlock.error && <ErrorBox error={unlock.error} />}
          <Button type="submit" variant="primary" isPending={unlock.isPending}>
            {texts.open}
          </Button>
        </Form>
      </div>
    </main>
  )
}
