"use strict";(self.rspackChunkrocmtx=self.rspackChunkrocmtx||[]).push([[1],{23(r,t,e){var o=e(24),n=e.n(o),a=e(25),i=(e.n(a))()(n());i.push([r.id,`.rtx-StatusItem {
  appearance: none;
  border: none;
  background: none;
  color: inherit;
  cursor: pointer;
  font: inherit;
  line-height: var(--jp-statusbar-height, 24px);
  padding: 0 6px;
}

.rtx-StatusItem:hover {
  background: var(--jp-layout-color3);
}

.rtx-StatusItem:focus-visible {
  outline: 1px solid var(--jp-brand-color1);
  outline-offset: -1px;
}

.rtx-About {
  display: grid;
  grid-template-columns: auto 1fr;
  gap: 4px 12px;
  margin: 0;
  max-width: 36em;
}

.rtx-About dt {
  color: var(--jp-ui-font-color2);
}

.rtx-About dd {
  margin: 0;
  overflow-wrap: anywhere;
}

.rtx-Gpus {
  background: var(--jp-layout-color1);
  color: var(--jp-ui-font-color1);
  font-size: var(--jp-ui-font-size1);
  line-height: 1.4;
  min-width: 220px !important;
  overflow-y: auto;
  padding: 8px 12px;
}

.rtx-Gpus :is(h3, h4, p, ul) {
  margin: 0;
  overflow-wrap: anywhere;
  padding: 0;
}

.rtx-Gpus h3 {
  color: var(--jp-ui-font-color2);
  font-size: var(--jp-ui-font-size0);
  font-weight: 600;
  letter-spacing: 0.5px;
  margin: 12px 0 4px;
  text-transform: uppercase;
}

.rtx-Gpus h4 {
  font-size: var(--jp-ui-font-size1);
  font-weight: 600;
}

.rtx-Gpus li {
  list-style: none;
}

.rtx-Gpus > ul > li {
  border-bottom: 1px solid var(--jp-border-color2);
  padding: 8px 0;
}

.rtx-Gpus li p,
.rtx-Gpus summary {
  color: var(--jp-ui-font-color2);
  font-size: var(--jp-ui-font-size1);
  font-variant-numeric: tabular-nums;
}

.rtx-Gpus summary {
  cursor: pointer;
}

.rtx-Gpus summary:focus-visible {
  outline: 1px solid var(--jp-brand-color1);
}

.rtx-Gpus details li {
  padding: 6px 0 0 12px;
}

.rtx-Gpus [role='status'] {
  border-left: 3px solid var(--jp-warn-color1);
  padding-left: 8px;
}

.rtx-Bar {
  background: color-mix(in srgb, var(--jp-ui-font-color1) 14%, transparent);
  border-radius: 3px;
  height: 6px;
  margin: 4px 0;
  overflow: hidden;
}

.rtx-Bar > div {
  background: var(--jp-brand-color1);
  height: 100%;
}

.rtx-mod-old > ul {
  opacity: 0.6;
}
`,""]),e.d(t,{},{A:i})},25(r){r.exports=function(r){var t=[];return t.toString=function(){return this.map(function(t){var e="",o=void 0!==t[5];return t[4]&&(e+="@supports (".concat(t[4],") {")),t[2]&&(e+="@media ".concat(t[2]," {")),o&&(e+="@layer".concat(t[5].length>0?" ".concat(t[5]):""," {")),e+=r(t),o&&(e+="}"),t[2]&&(e+="}"),t[4]&&(e+="}"),e}).join("")},t.i=function(r,e,o,n,a){"string"==typeof r&&(r=[[null,r,void 0]]);var i={};if(o)for(var s=0;s<this.length;s++){var p=this[s][0];null!=p&&(i[p]=!0)}for(var u=0;u<r.length;u++){var c=[].concat(r[u]);o&&i[c[0]]||(void 0!==a&&(void 0===c[5]||(c[1]="@layer".concat(c[5].length>0?" ".concat(c[5]):""," {").concat(c[1],"}")),c[5]=a),e&&(c[2]&&(c[1]="@media ".concat(c[2]," {").concat(c[1],"}")),c[2]=e),n&&(c[4]?(c[1]="@supports (".concat(c[4],") {").concat(c[1],"}"),c[4]=n):c[4]="".concat(n)),t.push(c))}},t}},24(r){r.exports=function(r){return r[1]}},17(r){var t=[];function e(r){for(var e=-1,o=0;o<t.length;o++)if(t[o].identifier===r){e=o;break}return e}function o(r,o){for(var n={},a=[],i=0;i<r.length;i++){var s=r[i],p=o.base?s[0]+o.base:s[0],u=n[p]||0,c="".concat(p," ").concat(u);n[p]=u+1;var l=e(c),d={css:s[1],media:s[2],sourceMap:s[3],supports:s[4],layer:s[5]};if(-1!==l)t[l].references++,t[l].updater(d);else{var f=function(r,t){var e=t.domAPI(t);return e.update(r),function(t){t?(t.css!==r.css||t.media!==r.media||t.sourceMap!==r.sourceMap||t.supports!==r.supports||t.layer!==r.layer)&&e.update(r=t):e.remove()}}(d,o);o.byIndex=i,t.splice(i,0,{identifier:c,updater:f,references:1})}a.push(c)}return a}r.exports=function(r,n){var a=o(r=r||[],n=n||{});return function(r){r=r||[];for(var i=0;i<a.length;i++){var s=e(a[i]);t[s].references--}for(var p=o(r,n),u=0;u<a.length;u++){var c=e(a[u]);0===t[c].references&&(t[c].updater(),t.splice(c,1))}a=p}}},19(r){var t={};r.exports=function(r,e){var o=function(r){if(void 0===t[r]){var e=document.querySelector(r);if(window.HTMLIFrameElement&&e instanceof window.HTMLIFrameElement)try{e=e.contentDocument.head}catch(r){e=null}t[r]=e}return t[r]}(r);if(!o)throw Error("Couldn't find a style target. This probably means that the value for the 'insert' parameter is invalid.");o.appendChild(e)}},21(r){r.exports=function(r){var t=document.createElement("style");return r.setAttributes(t,r.attributes),r.insert(t,r.options),t}},20(r,t,e){r.exports=function(r){var t=e.nc;t&&r.setAttribute("nonce",t)}},18(r){r.exports=function(r){if("u"<typeof document)return{update:function(){},remove:function(){}};var t=r.insertStyleElement(r);return{update:function(e){var o,n,a;o="",e.supports&&(o+="@supports (".concat(e.supports,") {")),e.media&&(o+="@media ".concat(e.media," {")),(n=void 0!==e.layer)&&(o+="@layer".concat(e.layer.length>0?" ".concat(e.layer):""," {")),o+=e.css,n&&(o+="}"),e.media&&(o+="}"),e.supports&&(o+="}"),(a=e.sourceMap)&&"u">typeof btoa&&(o+="\n/*# sourceMappingURL=data:application/json;base64,".concat(btoa(unescape(encodeURIComponent(JSON.stringify(a))))," */")),r.styleTagTransform(o,t,r.options)},remove:function(){var r;null===(r=t).parentNode||r.parentNode.removeChild(r)}}}},22(r){r.exports=function(r,t){if(t.styleSheet)t.styleSheet.cssText=r;else{for(;t.firstChild;)t.removeChild(t.firstChild);t.appendChild(document.createTextNode(r))}}},16(r,t,e){var o=e(17),n=e.n(o),a=e(18),i=e.n(a),s=e(19),p=e.n(s),u=e(20),c=e.n(u),l=e(21),d=e.n(l),f=e(22),v=e.n(f),m=e(23),x={};x.styleTagTransform=v(),x.setAttributes=c(),x.insert=p().bind(null,"head"),x.domAPI=i(),x.insertStyleElement=d(),n()(m.A,x),m.A&&m.A.locals&&m.A.locals}}]);