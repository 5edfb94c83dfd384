// Package signin owns the pages on which people sign in, confirm a sign-in and maintain their accounts.
package signin

import (
	"kartei/api/op"
	"kartei/people/account"
	"kartei/people/identity"
	"kartei/people/profile"
	"kartei/web/shell"
)

// Pages are the pages of this package. Each has its method, its path, the operations that it may
// call, and its handler.
var Pages = []shell.Page{
	shell.Open("GET", "/signin", nil, showSignIn),
	shell.Open("POST", "/signin", op.List{account.SignInByPassword, account.SignOut}, signIn),
	shell.Open("POST", "/signin/second", op.List{account.SignInBySecond, account.SignOut}, second),
	shell.Open("POST", "/signin/choose", op.List{account.Choose, account.SignOut}, choose),
	shell.Open("POST", "/signin/passkey", op.List{account.SignInByPasskey, account.SignOut}, signInByPasskey),
	shell.Open("POST", "/signin/passkey/options", op.List{account.AskPasskey}, showPasskeyOptions),
	shell.Open("POST", "/signin/sso", op.List{identity.Begin}, leaveToSignIn),
	shell.Open("GET", "/signin/sso/callback", op.List{account.SignInBySSO, account.AcceptBySSO, account.LinkSSO, account.RefreshBySSO, account.SignOut}, comeBack),
	shell.Private("GET", besidePath, op.List{account.GetSession}, showBeside),
	shell.Open("POST", besidePath, nil, goOn),
	shell.Open("POST", "/invitation/sso", op.List{identity.BeginInvited}, leaveToAccept),
	shell.Private("POST", "/confirm/sso", op.List{account.BeginSSOFresh}, leaveToConfirm, shell.Enrols),
	shell.Private("POST", "/settings/security/sso", op.List{account.BeginSSOLink}, leaveToLink, shell.Enrols),
	shell.Private("POST", "/settings/security/sso/{id}/remove", op.List{account.UnlinkSSO}, unlink, shell.Enrols),
	shell.Open("GET", "/signin/forgot", nil, showForgot),
	shell.Open("POST", "/signin/forgot", op.List{account.Forgot}, forgot),
	shell.Open("GET", "/reset", nil, showLink(&resetLink)),
	shell.Open("POST", "/reset", op.List{account.Reset}, followLink(&resetLink)),
	shell.Open("GET", "/factors", nil, showLink(&liftLink)),
	shell.Open("POST", "/factors", op.List{account.Reset}, followLink(&liftLink)),
	shell.Open("GET", "/address", nil, showLink(&addressLink)),
	shell.Open("POST", "/address", op.List{account.ConfirmEmail}, followLink(&addressLink)),
	shell.Open("GET", "/invitation", nil, showInvitation),
	shell.Open("POST", "/invitation", op.List{account.Accept, account.SignOut}, acceptInvitation),
	shell.Private("POST", shell.SignOutPath, op.List{account.SignOut}, signOut, shell.Enrols),

	shell.Private("GET", "/signin/choose", op.List{account.GetSession}, showChoose, shell.Enrols),
	shell.Private("POST", shell.SwitchPath, op.List{account.Switch}, switchTo, shell.Enrols),
	shell.Private("GET", "/confirm", op.List{account.GetFactors}, showConfirm, shell.Enrols),
	shell.Private("POST", "/confirm", op.List{account.Refresh}, confirm, shell.Enrols),
	shell.Private("POST", "/confirm/passkey", op.List{account.AskPasskey}, showPasskeyOptions, shell.Enrols),

	shell.Private("GET", "/settings/profile", op.List{profile.Get}, showProfile),
	shell.Private("POST", "/settings/profile", op.List{profile.Set}, saveProfile),
	shell.Private("GET", "/settings/security", op.List{account.GetFactors, account.ListSessions, account.ListSignIns}, showSecurity, shell.Enrols),
	shell.Private("GET", "/settings/security/password", op.List{account.GetFactors}, showPassword, shell.Enrols),
	shell.Private("POST", "/settings/security/password", op.List{account.SetPassword}, savePassword, shell.Enrols),
	shell.Private("POST", "/settings/security/totp", op.List{account.BeginTOTP}, beginTOTP, shell.Enrols),
	shell.Private("POST", "/settings/security/totp/confirm", op.List{account.ConfirmTOTP, account.BeginTOTP}, confirmTOTP, shell.Enrols),
	shell.Private("POST", "/settings/security/totp/remove", op.List{account.RemoveTOTP}, removeTOTP, shell.Enrols),
	shell.Private("POST", "/settings/security/codes", op.List{account.RenewRecoveryCodes}, renewCodes, shell.Enrols),
	shell.Private("POST", "/settings/security/passkeys/options", op.List{account.BeginPasskey}, showNewPasskey, shell.Enrols),
	shell.Private("POST", "/settings/security/passkeys", op.List{account.AddPasskey}, addPasskey, shell.Enrols),
	shell.Private("POST", "/settings/security/passkeys/{id}/remove", op.List{account.RemovePasskey}, removePasskey, shell.Enrols),
	shell.Private("POST", "/settings/security/sessions/{id}/end", op.List{account.EndSessions}, endSession, shell.Enrols),
	shell.Private("POST", "/settings/security/sessions/end", op.List{account.EndSessions}, endSessions, shell.Enrols),
	shell.Private("GET", "/settings/security/address", op.List{account.GetFactors}, showAddress, shell.Enrols),
	shell.Private("POST", "/settings/security/address", op.List{account.ChangeEmail}, changeAddress, shell.Enrols),
}
