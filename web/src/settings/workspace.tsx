import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Form } from 'react-aria-components'
import { ask } from '../api/client.ts'
import { graphql } from '../api/graphql.ts'
import { queryKeys } from '../api/query-keys.ts'
import { useSession } from '../api/session.ts'
import { texts as approvalTexts } from '../texts/approvals.tsx'
import { common } from '../texts/common.ts'
import { matchLanguage } from '../texts/languages.ts'
import { texts as securityTexts } from '../texts/security.tsx'
import { texts } from '../texts/settings.tsx'
import { Button } from '../ui/button.tsx'
import { Checkbox, type Choice, Choices } from '../ui/choices.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { NameField, submitting } from '../ui/field.tsx'
import { languageOptions } from '../ui/language-select.tsx'
import { AdminOnly, PageTitle } from '../ui/page.tsx'
import { Select } from '../ui/select.tsx'
import { notify } from '../ui/toasts.tsx'
import { BrandingForm } from './branding.tsx'

const UpdateWorkspaceMutation = graphql(`
  mutation UpdateWorkspace($input: UpdateWorkspaceInput!) {
    updateWorkspace(input: $input) { id }
  }
`)

const roles = ['OWNER', 'ADMIN', 'EDITOR', 'VIEWER', 'NONE'] as const
type RequiredRole = (typeof roles)[number]

type Registration = 'OPEN' | 'INVITE' | 'CLOSED'

const registrations: readonly Choice<Registration>[] = (['OPEN', 'INVITE', 'CLOSED'] as const).map(value => ({
  value,
  ...texts.registrations[value],
}))

export function WorkspacePage() {
  return (
    <AdminOnly title={texts.workspace} needsUnrestricted>
      <PageTitle>{texts.workspace}</PageTitle>
      <h1>{texts.workspace}</h1>
      <WorkspaceForm />
      <BrandingForm />
    </AdminOnly>
  )
}

function WorkspaceForm() {
  const { workspace } = useSession()
  const client = useQueryClient()
  const [name, setName] = useState(workspace.name)
  const [secondFactorRoles, setSecondFactorRoles] = useState<readonly RequiredRole[]>(workspace.secondFactorRoles)
  const [registration, setRegistration] = useState<Registration>(workspace.registration)
  const [language, setLanguage] = useState((workspace.language !== null && matchLanguage(workspace.language)) || 'en')
  const [approvals, setApprovals] = useState(workspace.approvals)
  const [scannedUploads, setScannedUploads] = useState(workspace.scannedUploads)
  const save = useMutation({
    mutationFn: async () => {
      await ask(UpdateWorkspaceMutation, {
        input: {
          name,
          registration,
          language,
          secondFactorRoles: [...secondFactorRoles],
          approvals,
          ...(workspace.hasScanner && { scannedUploads }),
        },
      })
      await client.invalidateQueries({ queryKey: queryKeys.session })
      await client.invalidateQueries({ queryKey: queryKeys.installation })
    },
    onSuccess: () => notify(common.saved),
  })
  return (
    <Form className="card" onSubmit={submitting(() => save.mutate())}>
      <NameField description={texts.nameHelp} value={name} onChange={setName} />
      <Select
        label={texts.workspaceLanguage}
        description={texts.workspaceLanguageHelp}
        options={languageOptions}
        value={language}
        onChange={setLanguage}
      />
      <Choices label={texts.whoRegisters} choices={registrations} value={registration} onChange={setRegistration} />
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset brings its own border and legend */}
      <div role="group" aria-label={securityTexts.requiredOf} className="role-checks">
        <span className="label">{securityTexts.requiredOf}</span>
        <p className="help">{securityTexts.requiredOfHelp}</p>
        {roles.map(role => (
          <Checkbox
            key={role}
            isSelected={secondFactorRoles.includes(role)}
            onChange={isSelected =>
              setSecondFactorRoles(
                roles.filter(each => (each === role ? isSelected : secondFactorRoles.includes(each))),
              )
            }
          >
            {texts.roles[role]}
          </Checkbox>
        ))}
      </div>
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset brings its own border and legend */}
      <div role="group" aria-label={approvalTexts.required}>
        <span className="label">{approvalTexts.required}</span>
        {(['DELETION', 'OVERWRITE'] as const).map(kind => (
          <Checkbox
            key={kind}
            isSelected={approvals.includes(kind)}
            onChange={isRequired =>
              setApprovals(isRequired ? [...approvals, kind] : approvals.filter(each => each !== kind))
            }
          >
            {approvalTexts.kinds[kind]}
          </Checkbox>
        ))}
        <p className="help">{approvalTexts.requiredHelp}</p>
      </div>
      {workspace.hasScanner && (
        // biome-ignore lint/a11y/useSemanticElements: a fieldset brings its own border and legend
        <div role="group" aria-label={texts.scanned}>
          <span className="label">{texts.scanned}</span>
          {(['DROP_LINKS', 'API_KEYS', 'SESSIONS'] as const).map(source => (
            <Checkbox
              key={source}
              isSelected={scannedUploads.includes(source)}
              onChange={isScanned =>
                setScannedUploads(
                  isScanned ? [...scannedUploads, source] : scannedUploads.filter(each => each !== source),
                )
              }
            >
              {texts.uploadSources[source]}
            </Checkbox>
          ))}
          <p className="help">{texts.scannedHelp}</p>
        </div>
      )}
      {save.error && <ErrorBox error={save.error} />}
      <div className="inline-row">
        <Button type="submit" variant="primary" isPending={save.isPending}>
          {common.save}
        </Button>
      </div>
    </Form>
  )
}
